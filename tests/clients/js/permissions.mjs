// What may run: rules, the callback, hooks, modes.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HERE, ask, assert, blocks, call, fails, model, of, options, prompts, read, result, say, sdk, sentText, until } from './world.mjs'

export async function bypass() {
  const api = await model([call('Bash', { command: 'echo made > made.txt; cat made.txt' }), say('done')])
  const messages = await ask('go', api, { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true })
  const kinds = messages.filter((message) => ['assistant', 'user', 'result'].includes(message.type)).map((message) => message.type)
  assert.deepEqual(kinds, ['assistant', 'user', 'assistant', 'result'])
  assert.equal(of(messages, 'user')[0].tool_use_result.stdout, 'made')
  assert.equal(result(messages).num_turns, 2)
}

export async function allowedTools() {
  const api = await model([call('Bash', { command: 'ls' }), call('Write', { file_path: join(HERE, 'x'), content: 'no' }), say('done')])
  const messages = await ask('go', api, { allowedTools: ['Read', 'Bash(ls:*)'] })
  assert.deepEqual(blocks(messages, 'tool_result').map((block) => Boolean(block.is_error)), [false, true])
  assert.deepEqual(result(messages).permission_denials.map((denial) => denial.tool_name), ['Write'])
  assert.equal(result(messages).is_error, false)
}

export async function callbackAllows() {
  const asked = []
  const seen = []
  const canUseTool = async (name, input, { toolUseID, suggestions }) => {
    asked.push({ name, toolUseID, suggestions })
    return { behavior: 'allow', updatedInput: { ...input, command: 'echo changed > out.txt' } }
  }
  const api = await model([call('Bash', { command: 'echo original > out.txt' }), say('done')])
  for await (const message of sdk.query({ prompt: 'go', options: options(api, { canUseTool }) })) seen.push(message)
  assert.equal(asked.length, 1)
  assert.equal(asked[0].toolUseID, blocks(seen, 'tool_use')[0].id)
  assert.equal(read('out.txt'), 'changed\n')
}

/** An answer without an input of its own: the model's runs. */
export async function callbackAllowsAsIs() {
  const api = await model([call('Bash', { command: 'echo original > out.txt' }), say('done')])
  await ask('go', api, { canUseTool: async () => ({ behavior: 'allow' }) })
  assert.equal(read('out.txt'), 'original\n')
}

export async function callbackDenies() {
  const api = await model([call('Bash', { command: 'touch x' }), say('understood')])
  const messages = await ask('go', api, { canUseTool: async () => ({ behavior: 'deny', message: 'not on a Friday' }) })
  assert.ok(blocks(messages, 'tool_result')[0].is_error)
  assert.match(sentText(api.requests()[1]), /not on a Friday/)
  assert.equal(result(messages).result, 'understood')
}

export async function callbackInterrupts() {
  const api = await model([call('Bash', { command: 'touch x' }), say('never said')])
  const canUseTool = async () => ({ behavior: 'deny', message: 'stop everything', interrupt: true })
  const { messages } = await fails('go', api, { canUseTool })
  assert.deepEqual([result(messages).terminal_reason, result(messages).is_error], ['aborted_tools', true])
  assert.equal(api.requests().length, 1)
  assert.equal(blocks(messages, 'tool_result').length, 1)
}

/** An interrupt while a question is open withdraws it; the answer that comes later changes nothing. */
export async function interruptedQuestion() {
  let answer
  const question = new Promise((asked) => {
    answer = (name, input, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ behavior: 'allow', updatedInput: input }))
        asked()
      })
  })
  const input = prompts()
  const api = await model([call('Bash', { command: 'touch x' }), say('still here')])
  const query = sdk.query({ prompt: input, options: options(api, { canUseTool: answer }) })
  input.push('go')
  const turn = until(query, (message) => message.type === 'result')
  await question
  await query.interrupt()
  assert.equal((await turn).at(-1).terminal_reason, 'aborted_tools')
  assert.ok(!existsSync(join(HERE, 'x')))
  input.push('there?')
  assert.equal((await until(query, (message) => message.type === 'result')).at(-1).result, 'still here')
  input.end()
}

export async function nobodyAnswers() {
  const api = await model([call('Bash', { command: 'touch x' }), say('done')])
  const messages = await ask('go', api, { permissionPrompts: 'none' })
  assert.ok(blocks(messages, 'tool_result')[0].is_error)
}

export async function hooks() {
  const heard = []
  const decide = (permissionDecision, more) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, ...more } })
  const before = async (input, toolUseID) => {
    heard.push([input.hook_event_name, toolUseID])
    const forbidden = input.tool_input.command.includes('forbidden')
    return forbidden ? decide('deny', { permissionDecisionReason: 'that word' }) : decide('allow', { updatedInput: { command: 'echo hooked > hooked.txt' } })
  }
  const after = async (input, toolUseID) => {
    heard.push([input.hook_event_name, toolUseID])
    return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'the moon is full' } }
  }
  const never = async () => assert.fail('no Edit or Write was called')
  const api = await model([call('Bash', { command: 'echo forbidden' }), call('Bash', { command: 'touch x' }), say('done')])
  const messages = await ask('go', api, {
    hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [before] }, { matcher: 'Edit|Write', hooks: [never] }], PostToolUse: [{ hooks: [after] }] },
  })
  const [first, second] = blocks(messages, 'tool_use').map((block) => block.id)
  assert.deepEqual(heard, [['PreToolUse', first], ['PreToolUse', second], ['PostToolUse', second]])
  const [refused, ran] = blocks(messages, 'tool_result')
  assert.ok(refused.is_error && JSON.stringify(refused.content).includes('that word'))
  assert.ok(!ran.is_error && existsSync(join(HERE, 'hooked.txt')))
  assert.match(sentText(api.requests()[2]), /the moon is full/)
}

export async function otherHooks() {
  const heard = []
  const note = async (input) => {
    heard.push(input.hook_event_name)
    return {}
  }
  const events = ['SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd', 'PostModelSwitch', 'TaskCreated', 'NoSuchEvent']
  const submit = async (input) => {
    heard.push(input.hook_event_name)
    assert.equal(input.prompt, 'go')
    return { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'it is raining' } }
  }
  const hooks = Object.fromEntries(events.map((event) => [event, [{ hooks: [event === 'UserPromptSubmit' ? submit : note] }]]))
  const api = await model([say('done')])
  const messages = await ask('go', api, { hooks })
  assert.equal(result(messages).result, 'done')
  assert.deepEqual(heard.slice(0, 3), ['SessionStart', 'UserPromptSubmit', 'Stop'])
  assert.match(sentText(api.requests()[0]), /it is raining/)
}

export async function modes() {
  const edit = call('Write', { file_path: join(HERE, 'a'), content: 'x' })
  const input = prompts()
  const api = await model([edit, say('could not'), edit, say('could')])
  const query = sdk.query({ prompt: input, options: options(api, { permissionMode: 'plan' }) })
  input.push('try')
  const refused = await until(query, (message) => message.type === 'result')
  assert.equal(of(refused, 'system', 'init')[0].permissionMode, 'plan')
  assert.ok(blocks(refused, 'tool_result')[0].is_error)
  await query.setPermissionMode('acceptEdits')
  input.push('again')
  const allowed = await until(query, (message) => message.type === 'result')
  assert.ok(!blocks(allowed, 'tool_result')[0].is_error && existsSync(join(HERE, 'a')))
  await assert.rejects(query.setPermissionMode('bypassPermissions'))
  input.end()
}
