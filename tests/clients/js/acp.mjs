// The ACP adapter as an editor drives it: JSON-RPC on its pipes, our binary behind it.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CLAUDE, CLIENTS, HERE, HOME, assert, call, model, say } from './world.mjs'

/** Starts the adapter. `permit` answers its permission questions with the kind of option to choose. */
export function adapter(api, permit, claude = CLAUDE) {
  const index = join(CLIENTS, 'node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js')
  return connected(process.execPath, [index], { ANTHROPIC_BASE_URL: api.url, CLAUDE_CODE_EXECUTABLE: claude }, permit)
}

/** Starts an ACP agent and speaks with it. */
export function connected(program, words, more, permit = () => assert.fail('nobody should have been asked')) {
  const child = spawn(program, words, { env: { ...process.env, ...more }, stdio: ['pipe', 'pipe', 'inherit'] })
  process.on('exit', () => child.kill('SIGKILL'))
  const waiting = new Map()
  const updates = []
  const watchers = []
  let ids = 0
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
  const take = {
    'session/update': ({ params }) => {
      updates.push(params.update)
      watchers.filter((watcher) => watcher.fits(params.update)).forEach((watcher) => watcher.resolve(params.update))
    },
    'session/request_permission': async ({ id, params }) => {
      const kind = await permit(params)
      const option = params.options.find((one) => one.kind === kind)
      send({ id, result: { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } } })
    },
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    if (!message.method) {
      const { resolve, reject } = waiting.get(message.id)
      return message.error ? reject(new Error(JSON.stringify(message.error))) : resolve(message.result)
    }
    if (take[message.method]) return take[message.method](message)
    if ('id' in message) send({ id: message.id, error: { code: -32601, message: 'not here' } })
  })
  return {
    updates,
    request: (method, params) =>
      new Promise((resolve, reject) => {
        waiting.set(++ids, { resolve, reject })
        send({ id: ids, method, params })
      }),
    notify: (method, params) => send({ method, params }),
    update: (fits) => new Promise((resolve) => watchers.push({ fits, resolve })),
    closed: () =>
      new Promise((resolve) => {
        child.on('exit', resolve)
        child.stdin.end()
      }),
  }
}

async function opened(api, permit, claude) {
  const acp = adapter(api, permit, claude)
  const { agentCapabilities } = await acp.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  assert.ok(agentCapabilities.loadSession)
  const { sessionId } = await acp.request('session/new', { cwd: HERE, mcpServers: [] })
  return { ...acp, sessionId, prompt: (text) => acp.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }) }
}

const spoken = (updates) =>
  updates.filter((update) => update.sessionUpdate === 'agent_message_chunk').map((update) => update.content.text).join('')

export async function promptWithPermission() {
  const asked = []
  const permit = async ({ toolCall }) => {
    asked.push(toolCall.toolCallId)
    return 'allow_once'
  }
  const api = await model([call('Bash', { command: 'touch made.txt', description: 'makes a file' }), say('It is made.')])
  const acp = await opened(api, permit)
  const { stopReason } = await acp.prompt('make a file')
  assert.equal(stopReason, 'end_turn')
  assert.equal(asked.length, 1)
  assert.ok(existsSync(join(HERE, 'made.txt')))
  assert.match(spoken(acp.updates), /It is made\./)
  const calls = acp.updates.filter((update) => update.toolCallId === asked[0])
  assert.equal(calls[0].sessionUpdate, 'tool_call')
  assert.equal(calls.at(-1).status, 'completed')
  await acp.closed()
}

export async function permissionRefused() {
  const api = await model([call('Bash', { command: 'touch made.txt' }), say('As you wish.')])
  const acp = await opened(api, async () => 'reject_once')
  const { stopReason } = await acp.prompt('make a file')
  assert.ok(['end_turn', 'cancelled'].includes(stopReason), stopReason)
  assert.ok(!existsSync(join(HERE, 'made.txt')))
  await acp.closed()
}

export async function cancel() {
  const api = await model([call('Bash', { command: 'sleep 300' }), say('Back again.')])
  const acp = await opened(api, async () => 'allow_once')
  const running = acp.update((update) => update.sessionUpdate === 'tool_call')
  const turn = acp.prompt('wait')
  await running
  acp.notify('session/cancel', { sessionId: acp.sessionId })
  assert.equal((await turn).stopReason, 'cancelled')
  assert.equal((await acp.prompt('there?')).stopReason, 'end_turn')
  assert.match(spoken(acp.updates), /Back again\./)
  await acp.closed()
}

export async function load() {
  const api = await model([say('The word is plum.'), say('Still plum.')])
  const first = await opened(api)
  await first.prompt('remember plum')
  await first.closed()
  const second = adapter(api)
  await second.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  await second.request('session/load', { sessionId: first.sessionId, cwd: HERE, mcpServers: [] })
  assert.match(spoken(second.updates), /The word is plum\./)
  const prompt = [{ type: 'text', text: 'what word?' }]
  assert.equal((await second.request('session/prompt', { sessionId: first.sessionId, prompt })).stopReason, 'end_turn')
  assert.match(JSON.stringify(api.requests().at(-1).messages), /remember plum/)
  await second.closed()
}

export async function modes() {
  const api = await model([call('Write', { file_path: join(HERE, 'a'), content: 'x' }), say('Written.')])
  const acp = await opened(api)
  await acp.request('session/set_mode', { sessionId: acp.sessionId, modeId: 'acceptEdits' })
  assert.equal((await acp.prompt('write')).stopReason, 'end_turn')
  assert.ok(existsSync(join(HERE, 'a')))
  await acp.closed()
}

/** A plan is approved in the editor, and the work begins in the mode that was chosen there. */
export async function plan() {
  const asked = []
  const permit = async ({ toolCall, options }) => {
    asked.push(toolCall.kind ?? toolCall.title)
    return options.find((option) => option.kind.startsWith('allow')).kind
  }
  const turns = [call('ExitPlanMode', { plan: '1. write a' }), call('Write', { file_path: join(HERE, 'a'), content: 'x' }), say('Written.')]
  const acp = await opened(await model(turns), permit)
  await acp.request('session/set_mode', { sessionId: acp.sessionId, modeId: 'plan' })
  assert.equal((await acp.prompt('plan it')).stopReason, 'end_turn')
  assert.ok(asked.length >= 1 && existsSync(join(HERE, 'a')), JSON.stringify(asked))
  await acp.closed()
}

export async function commands() {
  const acp = await opened(await model([say('one'), say('two')], [say('They talked about plums.')]))
  assert.equal((await acp.prompt('hello')).stopReason, 'end_turn')
  for (const command of ['/compact', '/context', '/clear']) {
    assert.equal((await acp.prompt(command)).stopReason, 'end_turn', command)
  }
  assert.equal((await acp.prompt('and now?')).stopReason, 'end_turn')
  assert.match(spoken(acp.updates), /one.*two/s)
  await acp.closed()
}

/** Whichever of the two asks first gets the first of the remaining turns, so both answer the same. */
export async function agentInTheBackground() {
  const work = { description: 'look', prompt: 'Look.', subagent_type: 'general-purpose', run_in_background: true }
  const api = await model([call('Agent', work), say('Started.'), say('Started.'), say('It is done.'), say('It is done.')])
  const acp = await opened(api, async () => 'allow_once')
  assert.equal((await acp.prompt('look around')).stopReason, 'end_turn')
  assert.match(spoken(acp.updates), /Started\./)
  await acp.closed()
}

export async function apiFailure() {
  const error = { type: 'error', error: { type: 'invalid_request_error', message: 'no such thing' } }
  const acp = await opened(await model([{ status: 400, error }, say('Better now.')]))
  await assert.rejects(acp.prompt('go'), /no such thing/)
  assert.equal((await acp.prompt('again')).stopReason, 'end_turn')
  await acp.closed()
}

/** The adapter puts an empty word on our command line, and asks who is logged in. */
export async function commandLine() {
  const [wrapper, seen] = [join(HOME, 'claude'), join(HOME, 'argv')]
  const words = `for word in "$@"; do printf '<%s>' "$word" >> '${seen}'; done`
  writeFileSync(wrapper, `#!/bin/sh\n${words}\nexec '${CLAUDE}' "$@"\n`, { mode: 0o755 })
  const acp = await opened(await model([say('Hello.')]), undefined, wrapper)
  assert.equal((await acp.prompt('hi')).stopReason, 'end_turn')
  await acp.closed()
  assert.match(readFileSync(seen, 'utf8'), /<--replay-user-messages><>/)
  const status = spawnSync(CLAUDE, ['--settings', '{}', 'auth', 'status', '--json'], { encoding: 'utf8' })
  assert.deepEqual([status.status, JSON.parse(status.stdout).loggedIn], [0, true])
  const env = { HOME, PATH: process.env.PATH }
  const nobody = spawnSync(CLAUDE, ['auth', 'status', '--json'], { encoding: 'utf8', env })
  assert.deepEqual([nobody.status, JSON.parse(nobody.stdout).loggedIn], [1, false])
}
