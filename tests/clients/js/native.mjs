// `ralph acp` with real ACP clients: the protocol's own TypeScript SDK and acpx; and a real ACP agent in the loop.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { CLAUDE, CLIENTS, HERE, HOME, RALPH, assert, call, model, say } from './world.mjs'

const environment = (api, more = {}) => ({ ...process.env, ANTHROPIC_BASE_URL: api.url, ...more })

/** A turn driven by the SDK of the protocol: its own types parse every message of ours. */
export async function sdkClient() {
  const acp = await import(join(CLIENTS, 'acp/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js'))
  const api = await model([call('Write', { file_path: join(HERE, 'made.txt'), content: 'x' }), say('It is made.')])
  const child = spawn(RALPH, ['acp'], { env: environment(api), stdio: ['pipe', 'pipe', 'inherit'] })
  process.on('exit', () => child.kill('SIGKILL'))
  const updates = []
  const asked = []
  const { agent, client } = acp.methods
  const app = acp.client({ name: 'test' })
  app.onNotification(client.session.update, ({ params }) => void updates.push(params.update))
  app.onRequest(client.session.requestPermission, ({ params }) => {
    asked.push(params.toolCall.kind)
    const option = params.options.find((one) => one.kind === 'allow_once')
    return { outcome: { outcome: 'selected', optionId: option.optionId } }
  })
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))
  const stopReason = await app.connectWith(stream, async (context) => {
    const { protocolVersion } = await context.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    assert.equal(protocolVersion, 1)
    const { sessionId } = await context.request(agent.session.new, { cwd: HERE, mcpServers: [] })
    const prompt = [{ type: 'text', text: 'make it' }]
    return (await context.request(agent.session.prompt, { sessionId, prompt })).stopReason
  })
  assert.equal(stopReason, 'end_turn')
  assert.deepEqual(asked, ['edit'])
  assert.equal(readFileSync(join(HERE, 'made.txt'), 'utf8'), 'x')
  assert.ok(updates.some((update) => update.sessionUpdate === 'tool_call_update' && update.content?.[0]?.type === 'diff'))
  child.stdin.end()
  if (child.exitCode === null) await new Promise((resolve) => child.on('exit', resolve))
  assert.equal(child.exitCode, 0)
}

function acpx(api, words) {
  const cli = join(CLIENTS, 'acp/node_modules/acpx/dist/cli.js')
  const agent = ['--agent', `${RALPH} acp`, '--cwd', HERE]
  const run = spawnSync(process.execPath, [cli, ...agent, ...words], { env: environment(api), encoding: 'utf8', timeout: 50_000 })
  return { ...run, all: `${run.stdout}\n${run.stderr}` }
}

export async function acpxExec() {
  const api = await model([call('Bash', { command: 'touch made.txt' }), say('It is made.')])
  const run = acpx(api, ['--approve-all', 'exec', 'Make it'])
  assert.equal(run.status, 0, run.all)
  assert.match(run.all, /It is made\./)
  assert.match(run.all, /end_turn/)
  assert.ok(existsSync(join(HERE, 'made.txt')), run.all)
}

export async function acpxDenied() {
  const api = await model([call('Bash', { command: 'touch made.txt' }), say('As you wish.')])
  const run = acpx(api, ['--deny-all', 'exec', 'Make it'])
  assert.equal(run.status, 5, run.all)
  assert.ok(!existsSync(join(HERE, 'made.txt')))
}

export async function acpxSessions() {
  const api = await model([say('The word is plum.')])
  for (const words of [['sessions', 'new'], ['set-mode', 'acceptEdits'], ['set', 'model', 'sonnet'], ['--approve-all', 'prompt', 'remember plum'], ['sessions', 'list'], ['sessions', 'close']]) {
    const run = acpx(api, words)
    assert.equal(run.status, 0, `${words.join(' ')}: ${run.all}`)
    if (words.includes('prompt')) assert.match(run.all, /plum/)
  }
}

/** A loop around the ACP adapter, which has our own binary behind it. */
export async function adapterInTheLoop() {
  const promise = '<promise>COMPLETE</promise>'
  const api = await model([call('Write', { file_path: join(HERE, 'made.txt'), content: 'right' }), say(promise)])
  const run = looped(api)
  assert.equal(run.status, 0, run.stdout + run.stderr)
  assert.equal(readFileSync(join(HERE, 'made.txt'), 'utf8'), 'right')
}

export async function adapterWithoutKey() {
  const api = await model([{ status: 401 }, { status: 401 }, { status: 401 }])
  const run = looped(api, ['--max-failures', '1'])
  assert.notEqual(run.status, 0, run.stdout)
  assert.ok(!run.stdout.includes('"outcome":{"kind":"done"'), run.stdout)
}

function looped(api, more = []) {
  const index = join(CLIENTS, 'node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js')
  mkdirSync(join(HERE, '.ralph'), { recursive: true })
  writeFileSync(join(HERE, '.ralph/prompt.md'), '# Make it\n')
  writeFileSync(join(HERE, '.ralph/todo.md'), '- [x] make it\n')
  writeFileSync(join(HOME, '.claude.json'), JSON.stringify({ projects: { [HERE]: { hasTrustDialogAccepted: true } } }))
  const words = ['2', '--json', '--sandbox', 'off', '--failure-pause', '0', '--backend', `acp:${process.execPath} ${index}`, ...more]
  return spawnSync(RALPH, words, { env: environment(api, { CLAUDE_CODE_EXECUTABLE: CLAUDE, CLAUDE_CODE_MAX_RETRIES: '0' }), encoding: 'utf8', timeout: 55_000 })
}
