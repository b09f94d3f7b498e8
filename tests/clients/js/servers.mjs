// Tools from outside, and the requests a client may make at any time.

import { join } from 'node:path'
import { ask, assert, blocks, call, load, model, of, options, prompts, result, say, sdk, until, write } from './world.mjs'

const { z } = await load('zod/index.js')
const calc = {
  type: 'stdio',
  command: process.env.PYTHON,
  args: [join(import.meta.dirname, '../py/calc_server.py')],
}

const greeter = (heard) =>
  sdk.createSdkMcpServer({
    name: 'greeter',
    tools: [
      sdk.tool('greet', 'greets somebody', { name: z.string() }, async ({ name }) => {
        heard.push(name)
        return { content: [{ type: 'text', text: `Hello, ${name}!` }] }
      }),
    ],
  })

export async function inProcess() {
  const heard = []
  const api = await model([call('mcp__greeter__greet', { name: 'Ada' }), say('done')])
  const messages = await ask('greet', api, { mcpServers: { greeter: greeter(heard) }, allowedTools: ['mcp__greeter__greet'] })
  const [init] = of(messages, 'system', 'init')
  assert.ok(init.tools.includes('mcp__greeter__greet'), JSON.stringify(init.tools))
  assert.deepEqual(init.mcp_servers.map(({ name, status }) => [name, status]), [['greeter', 'connected']])
  assert.match(JSON.stringify(blocks(messages, 'tool_result')[0].content), /Hello, Ada!/)
  assert.deepEqual(heard, ['Ada'])
}

export async function inProcessNeedsPermission() {
  const heard = []
  const api = await model([call('mcp__greeter__greet', { name: 'Ada' }), say('done')])
  const messages = await ask('greet', api, { mcpServers: { greeter: greeter(heard) } })
  assert.deepEqual(heard, [])
  assert.ok(blocks(messages, 'tool_result')[0].is_error)
  assert.equal(result(messages).permission_denials.length, 1)
}

export async function setServers() {
  const api = await model([say('one'), call('mcp__calc__add', { a: 20, b: 22 }), say('two')])
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api, { allowedTools: ['mcp__calc'] }) })
  input.push('hi')
  await until(query, (message) => message.type === 'result')
  const { added, removed, errors } = await query.setMcpServers({ calc })
  assert.deepEqual([added, removed, errors], [['calc'], [], {}])
  assert.deepEqual((await query.mcpServerStatus()).map(({ name, status }) => [name, status]), [['calc', 'connected']])
  input.push('add')
  const messages = await until(query, (message) => message.type === 'result')
  assert.match(JSON.stringify(blocks(messages, 'tool_result')[0].content), /42/)
  assert.deepEqual((await query.setMcpServers({})).removed, ['calc'])
  input.end()
}

/** Requests in mid-conversation; one that nobody knows is refused and nothing else happens. */
export async function requests() {
  const api = await model([say('one'), say('two')])
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api) })
  const again = await query.reinitialize()
  assert.ok(again.models.length && again.commands.some(({ name }) => name === 'compact'))
  input.push('hi')
  await until(query, (message) => message.type === 'result')
  const usage = await query.getContextUsage()
  assert.ok(usage.totalTokens > 0 && usage.rawMaxTokens > usage.totalTokens)
  assert.deepEqual(await query.mcpServerStatus(), [])
  await assert.rejects(query.updateSettings('localSettings', {}), /Unsupported control request subtype: update_settings/)
  write('notes.txt', 'hello')
  assert.equal((await query.readFile('notes.txt')).contents, 'hello')
  assert.equal(await query.readFile('/etc/shadow'), null)
  await query.seedReadState('notes.txt', Date.now())
  write('.claude/skills/late/SKILL.md', '---\ndescription: came late\n---\nWork.')
  assert.deepEqual((await query.reloadSkills()).skills.map(({ name }) => name), ['late'])
  const { plugins, agents, error_count } = await query.reloadPlugins()
  assert.ok(agents.length && plugins.length === 0 && error_count === 0)
  assert.ok((await query.reloadOutputStyles()).available_output_styles.includes('default'))
  assert.equal(await query.backgroundTasks('nothing-like-it'), false)
  // A task that is not there is stopped already.
  await query.stopTask('nothing-like-it')
  input.push('still there?')
  assert.equal((await until(query, (message) => message.type === 'result')).at(-1).result, 'two')
  input.end()
}
