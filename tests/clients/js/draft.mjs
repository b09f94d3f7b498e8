// `ralph serve` with the protocol's own client for HTTP: the draft route `/acp`.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CLIENTS, HERE, RALPH, assert, call, model, say } from './world.mjs'

async function server(api) {
  const env = { ...process.env, ANTHROPIC_BASE_URL: api.url }
  const child = spawn(RALPH, ['serve', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  process.on('exit', () => child.kill('SIGKILL'))
  for await (const link of createInterface({ input: child.stdout })) {
    const [, host, token] = link.match(/^http:\/\/(.+)\/#token=(.+)$/)
    return { url: `http://${host}/acp`, headers: { Authorization: `Bearer ${token}` } }
  }
}

const sdk = (file) => import(join(CLIENTS, 'acp/node_modules/@agentclientprotocol/sdk/dist', file))

export async function httpClient() {
  const [acp, { createHttpStream }] = [await sdk('v1/stable/acp.js'), await sdk('transports/http-stream.js')]
  const api = await model([call('Write', { file_path: join(HERE, 'made.txt'), content: 'x' }), say('It is made.'), say('Still here.')])
  const { url, headers } = await server(api)
  const updates = []
  // What the client does not understand of ours, it says on the console.
  const complaints = []
  for (const name of ['error', 'warn']) console[name] = (...words) => complaints.push(words.map(String).join(' '))
  const { agent, client } = acp.methods
  const app = acp.client({ name: 'test' })
  app.onNotification(client.session.update, ({ params }) => void updates.push(params.update))
  app.onRequest(client.session.requestPermission, ({ params }) => {
    const option = params.options.find((one) => one.kind === 'allow_once')
    return { outcome: { outcome: 'selected', optionId: option.optionId } }
  })
  const prompt = [{ type: 'text', text: 'make it' }]
  const first = await app.connectWith(createHttpStream(url, { headers }), async (context) => {
    await context.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    const { sessionId } = await context.request(agent.session.new, { cwd: HERE, mcpServers: [] })
    return { sessionId, ...(await context.request(agent.session.prompt, { sessionId, prompt })) }
  })
  assert.equal(first.stopReason, 'end_turn')
  assert.equal(readFileSync(join(HERE, 'made.txt'), 'utf8'), 'x')
  assert.ok(updates.some((update) => update.content?.[0]?.type === 'diff'), JSON.stringify(updates))
  // Another connection goes on with the session, and is shown what was said.
  updates.length = 0
  const second = await app.connectWith(createHttpStream(url, { headers }), async (context) => {
    await context.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    const { sessionId } = first
    await context.request(agent.session.load, { sessionId, cwd: HERE, mcpServers: [] })
    return context.request(agent.session.prompt, { sessionId, prompt })
  })
  assert.equal(second.stopReason, 'end_turn')
  const text = updates.filter((update) => update.sessionUpdate === 'agent_message_chunk').map((update) => update.content.text).join('')
  assert.match(text, /It is made\..*Still here\./s)
  assert.deepEqual(complaints, [])
}
