// The same scripts through `ralph acp` and through the ACP adapter with our binary behind it: what an editor shows of them must be the same.
// Compared are kinds, titles, places, diffs and ends of tool calls, plans, permission questions by kind, and how turns end.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adapter, connected } from './acp.mjs'
import { HERE, RALPH, assert, call, model, say } from './world.mjs'

const at = (name) => join(HERE, name)

/** Each has its turns; `mode` and `answer` (a kind of option) where they are not the usual ones. */
const SCRIPTS = {
  read: { turns: [call('Read', { file_path: at('old.txt') }), say('Read.')] },
  readPart: { turns: [call('Read', { file_path: at('old.txt'), offset: 2, limit: 1 }), say('Read.')] },
  readFrom: { turns: [call('Read', { file_path: at('old.txt'), offset: 2 }), say('Read.')] },
  readMissing: { turns: [call('Read', { file_path: at('none.txt') }), say('It is not there.')] },
  writeNew: { turns: [call('Write', { file_path: at('new.txt'), content: 'one\ntwo\n' }), say('Written.')] },
  writeOver: { turns: [call('Read', { file_path: at('old.txt') }), call('Write', { file_path: at('old.txt'), content: 'alpha\nBETA\ngamma\n' }), say('Written.')] },
  edit: { turns: [call('Read', { file_path: at('old.txt') }), call('Edit', { file_path: at('old.txt'), old_string: 'beta', new_string: 'BETA' }), say('Changed.')] },
  editTwice: {
    turns: [call('Read', { file_path: at('long.txt') }), call('Edit', { file_path: at('long.txt'), old_string: 'mark', new_string: 'MARK', replace_all: true }), say('Changed.')],
  },
  editRefused: { turns: [call('Read', { file_path: at('old.txt') }), call('Edit', { file_path: at('old.txt'), old_string: 'beta', new_string: 'x' }), say('As you wish.')], answer: 'reject_once' },
  acceptEdits: { turns: [call('Write', { file_path: at('new.txt'), content: 'x' }), say('Written.')], mode: 'acceptEdits' },
  bash: { turns: [call('Bash', { command: 'touch made.txt && echo made', description: 'makes a file' }), say('Made.')] },
  bashFails: { turns: [call('Bash', { command: 'ls /none-of-this' }), say('It failed.')] },
  bashRefused: { turns: [call('Bash', { command: 'touch made.txt' }), say('As you wish.')], answer: 'reject_once' },
  find: { turns: [call('Glob', { pattern: '**/*.txt' }), say('Found.')] },
  findIn: { turns: [call('Glob', { pattern: '*.txt', path: at('inner') }), say('Found.')] },
  search: { turns: [call('Grep', { pattern: 'beta' }), say('Found.')] },
  searchMore: {
    turns: [call('Grep', { pattern: 'b.ta', path: at('old.txt'), glob: '*.txt', output_mode: 'content', '-i': true, '-n': true, '-C': 2, head_limit: 5 }), say('Found.')],
  },
  searchCount: { turns: [call('Grep', { pattern: 'x', output_mode: 'count', type: 'js', multiline: true }), say('None.')] },
  skill: { turns: [call('Skill', { skill: 'nothing' }), say('There is none.')] },
  two: {
    turns: [{ content: [{ type: 'text', text: 'Both.' }, { type: 'tool_use', name: 'Read', input: { file_path: at('old.txt') } }, { type: 'tool_use', name: 'Glob', input: { pattern: '*' } }] }, say('Done.')],
  },
  thought: { turns: [{ content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text', text: 'Yes.' }] }] },
  cutOff: { turns: [say('It goes on and', { stop_reason: 'max_tokens' }), say('on.', { stop_reason: 'max_tokens' }), say('x', { stop_reason: 'max_tokens' }), say('x', { stop_reason: 'max_tokens' }), say('x', { stop_reason: 'max_tokens' })] },
  refused: { turns: [say('I cannot do that.', { stop_reason: 'refusal' })] },
  badRequest: { turns: [{ status: 400, error: { type: 'error', error: { type: 'invalid_request_error', message: 'no such thing' } } }] },
  noKey: { turns: [{ status: 401 }, { status: 401 }, { status: 401 }] },
}

function prepare() {
  for (const name of ['new.txt', 'made.txt', 'old.txt', 'long.txt', 'inner']) rmSync(at(name), { recursive: true, force: true })
  mkdirSync(at('inner'))
  writeFileSync(at('inner/deep.txt'), 'deep\n')
  writeFileSync(at('old.txt'), 'alpha\nbeta\ngamma\n')
  writeFileSync(at('long.txt'), Array.from({ length: 40 }, (_, line) => (line % 30 === 5 ? 'mark' : `line ${line}`)).join('\n') + '\n')
}

/** What an editor shows of a turn. */
async function shown(script, start) {
  prepare()
  const asked = []
  const permit = ({ toolCall, options }) => {
    asked.push({ kind: toolCall.kind, title: toolCall.title, options: options.map((option) => option.kind).sort() })
    return script.answer ?? 'allow_once'
  }
  const api = await model(script.turns)
  const agent = start(api, permit)
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await agent.request('session/new', { cwd: HERE, mcpServers: [] })
  if (script.mode) await agent.request('session/set_mode', { sessionId, modeId: script.mode })
  const prompt = [{ type: 'text', text: 'go' }]
  const ended = await agent.request('session/prompt', { sessionId, prompt }).then(
    ({ stopReason }) => stopReason,
    (error) => failed(JSON.parse(error.message)),
  )
  await agent.closed()
  return { ended, calls: calls(agent.updates), asked, said: said(agent.updates) }
}

/** Why a missing login is one is said by the code alone. */
const failed = ({ code, data }) => (code === -32000 ? { code } : { code, kind: data?.errorKind })

function calls(updates) {
  const all = new Map()
  for (const update of updates.filter((one) => one.toolCallId)) {
    const known = all.get(update.toolCallId) ?? {}
    const told = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
    all.set(update.toolCallId, { ...known, ...Object.fromEntries(told) })
  }
  return [...all.values()].map(({ title, kind, status, locations = [], content = [] }) => ({
    title,
    kind,
    status,
    locations: locations.map(({ path, line }) => ({ path, line })),
    diffs: content.filter((one) => one.type === 'diff').map(({ path, oldText, newText }) => ({ path, oldText: oldText ?? null, newText })),
  }))
}

const said = (updates) =>
  ['agent_message_chunk', 'agent_thought_chunk'].map((kind) =>
    updates.filter((one) => one.sessionUpdate === kind).map((one) => one.content.text).join(''))

/** All scripts, in one process each; every difference is told. */
export async function sameAsTheAdapter() {
  const wanted = process.env.COMPARE ? { [process.env.COMPARE]: SCRIPTS[process.env.COMPARE] } : SCRIPTS
  const more = { CLAUDE_CODE_MAX_RETRIES: '0' }
  Object.assign(process.env, more)
  const differences = []
  for (const [name, script] of Object.entries(wanted)) {
    const theirs = await shown(script, (api, permit) => adapter(api, permit))
    const ours = await shown(script, (api, permit) => connected(RALPH, ['acp'], { ANTHROPIC_BASE_URL: api.url }, permit))
    if (process.env.COMPARE) console.error(JSON.stringify({ ours, theirs }, null, 1))
    try {
      assert.deepEqual(ours, theirs)
    } catch (error) {
      differences.push(`${name}: ${error.message}`)
    }
  }
  assert.equal(differences.join('\n\n'), '')
}
