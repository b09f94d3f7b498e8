// Prompts and answers: one query, several rounds, resume, partial messages, limits, failures, aborts.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HERE, HOME, ask, assert, blocks, call, fails, model, of, options, prompts, read, result, say, sdk, sentText, until } from './world.mjs'

export async function oneQuery() {
  const api = await model([say('hello', { delay_ms: 200 })])
  const messages = await ask('hi', api)
  assert.deepEqual([messages[0].type, messages[0].subtype], ['system', 'init'])
  assert.equal(messages[0].session_id, result(messages).session_id)
  assert.deepEqual(blocks(messages, 'text').map((block) => block.text), ['hello'])
  const { subtype, is_error, num_turns } = messages.at(-1)
  assert.deepEqual([subtype, is_error, num_turns], ['success', false, 1])
  const last = api.requests()[0].messages.at(-1)
  assert.deepEqual([last.role, JSON.stringify(last.content).includes('"hi"')], ['user', true])
}

export async function twoRounds() {
  const api = await model([say('one'), say('two')])
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api) })
  const { models, commands } = await query.initializationResult()
  assert.ok(models.length && commands.length)
  input.push('first')
  const first = await until(query, (message) => message.type === 'result')
  input.push('second')
  const second = await until(query, (message) => message.type === 'result')
  assert.equal(first.at(-1).session_id, second.at(-1).session_id)
  assert.match(sentText(api.requests()[1]), /first.*one.*second/)
  input.end()
  assert.equal((await query.next()).done, true)
}

export async function resumeAndContinue() {
  const api = await model([say('one'), say('two'), say('three')])
  const { session_id: resume } = result(await ask('remember the word plum', api))
  assert.equal(result(await ask('what word?', api, { resume })).session_id, resume)
  assert.match(sentText(api.requests()[1]), /plum/)
  assert.equal(result(await ask('and now?', api, { continue: true })).session_id, resume)
  assert.match(sentText(api.requests()[2]), /what word\?/)
}

export async function noPersistence() {
  await ask('hi', await model([say('hello')]), { persistSession: false })
  const projects = join(HOME, '.claude', 'projects')
  const files = existsSync(projects) ? readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl')) : []
  assert.deepEqual(files, [])
}

export async function partialMessages() {
  const api = await model([say('hello there, in more than one piece')])
  const messages = await ask('hi', api, { includePartialMessages: true })
  const kinds = of(messages, 'stream_event').map((message) => message.event.type)
  assert.equal(kinds[0], 'message_start')
  assert.equal(kinds.at(-1), 'message_stop')
  const assistant = messages.findIndex((message) => message.type === 'assistant')
  assert.ok(messages.slice(0, assistant).some((message) => message.event?.type === 'content_block_delta'))
  assert.deepEqual([messages[0].type, messages[0].subtype], ['system', 'init'])
}

export async function maxTurns() {
  const api = await model([call('Bash', { command: 'true' })])
  const { messages, error } = await fails('go', api, { maxTurns: 1, permissionMode: 'dontAsk', allowedTools: ['Bash'] })
  assert.equal(result(messages).subtype, 'error_max_turns')
  assert.match(error.message, /Reached maximum number of turns \(1\)/)
}

export async function apiFailure() {
  const error = { type: 'error', error: { type: 'invalid_request_error', message: 'no such thing' } }
  const failed = await fails('go', await model([{ status: 400, error }]))
  const { subtype, is_error, terminal_reason, api_error_status } = result(failed.messages)
  assert.deepEqual([subtype, is_error, terminal_reason, api_error_status], ['success', true, 'api_error', 400])
  assert.equal(of(failed.messages, 'assistant').at(-1).error, 'invalid_request')
  assert.match(failed.error.message, /no such thing/)
}

export async function interrupt() {
  const api = await model([say('never heard in full, it stalls', { stall_after_events: 4 }), call('Bash', { command: 'sleep 300' }), say('still here')])
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api, { includePartialMessages: true, allowedTools: ['Bash'] }) })
  input.push('talk')
  await until(query, (message) => message.type === 'stream_event')
  await query.interrupt()
  const first = await until(query, (message) => message.type === 'result')
  assert.equal(first.at(-1).terminal_reason, 'aborted_streaming')
  input.push('work')
  await until(query, (message) => blocks([message], 'tool_use').length > 0)
  await query.interrupt()
  const second = await until(query, (message) => message.type === 'result')
  assert.equal(second.at(-1).terminal_reason, 'aborted_tools')
  assert.equal(blocks(second, 'tool_result').length, 1)
  input.push('are you there?')
  assert.equal((await until(query, (message) => message.type === 'result')).at(-1).result, 'still here')
  input.end()
}

/** Abort in mid-command: what was finished is in the transcript, and nothing that was started lives on. */
export async function abort() {
  const command = 'echo $$ > pid; exec sleep 300'
  const api = await model([{ content: [{ type: 'text', text: 'before' }, ...call('Bash', { command }).content] }])
  const abortController = new AbortController()
  const query = sdk.query({ prompt: 'go', options: options(api, { abortController, allowedTools: ['Bash'] }) })
  const [{ session_id }] = await until(query, (message) => blocks([message], 'tool_use').length > 0)
  const pid = await eventually(() => Number(read('pid')))
  const started = Date.now()
  abortController.abort()
  await assert.rejects(async () => {
    while (!(await query.next()).done);
  })
  await eventually(() => !alive(pid))
  assert.ok(Date.now() - started < 6000, 'it took too long to go')
  const folder = join(HOME, '.claude', 'projects', HERE.replace(/[^A-Za-z0-9]/g, '-'))
  assert.match(readFileSync(join(folder, `${session_id}.jsonl`), 'utf8'), /"before"/)
}

function alive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Nothing tells another process's state as an event, so it is looked at again and again, up to a bound. */
async function eventually(holds) {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    try {
      const value = holds()
      if (value) return value
    } catch {}
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.fail(`never came true: ${holds}`)
}

export async function queuedPrompts() {
  const count = 100
  const api = await model(Array.from({ length: count }, (_, index) => say(`answer ${index}`)))
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api) })
  for (let index = 0; index < count; index++) input.push(`prompt ${index}`)
  input.end()
  const results = []
  for await (const message of query) if (message.type === 'result') results.push(message.result)
  assert.deepEqual(results, Array.from({ length: count }, (_, index) => `answer ${index}`))
}

export async function origin() {
  const api = await model([say('one'), say('two')])
  const input = prompts()
  const query = sdk.query({ prompt: input, options: options(api) })
  input.push('typed', { origin: { kind: 'human' } })
  input.push('not typed')
  input.end()
  const results = []
  for await (const message of query) if (message.type === 'result') results.push(message.origin)
  assert.deepEqual(results, [{ kind: 'human' }, undefined])
}

export async function silence() {
  let said = ''
  const stderr = (text) => (said += text)
  await ask('hi', await model([say('hello')]), { stderr })
  assert.equal(said, '')
}
