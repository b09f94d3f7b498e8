// What every JavaScript scenario uses: a scripted model, options that point at our binary, short readers.
// A scenario is an exported async function; `run.mjs MODULE FUNCTION` runs it and prints its verdict.
// Deliberately absent: retries and pauses.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

export { assert }
export const { CLAUDE, RALPH, CLIENTS, HOME } = process.env
export const HERE = process.cwd()

/** A file of an installed package: these scripts do not live beside `node_modules`. */
export const load = (file) => import(join(CLIENTS, 'node_modules', file))

export const sdk = await load('@anthropic-ai/claude-agent-sdk/sdk.mjs')

const servers = []
process.on('exit', () => servers.forEach((server) => server.kill('SIGKILL')))

/** A model that says what it was told to say. */
export async function model(turns, untooled = []) {
  const folder = mkdtempSync(join(tmpdir(), 'model-'))
  const [script, log] = [join(folder, 'script.json'), join(folder, 'log.ndjson')]
  writeFileSync(script, JSON.stringify({ turns, untooled }))
  const server = spawn(RALPH, ['mock', script, '--log', log], { stdio: ['ignore', 'pipe', 'inherit'] })
  servers.push(server)
  for await (const url of createInterface({ input: server.stdout })) {
    server.unref()
    server.stdout.unref?.()
    return { url, requests: () => requests(log) }
  }
}

const requests = (log) =>
  readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line).body).filter((body) => body?.tools?.length)

export const say = (text, more = {}) => ({ content: [{ type: 'text', text }], ...more })
export const call = (name, input) => ({ content: [{ type: 'tool_use', name, input }] })

/** Options of the TypeScript SDK; its `env` replaces the environment, so ours goes along. */
export const options = (model, more = {}) => ({
  pathToClaudeCodeExecutable: CLAUDE,
  cwd: HERE,
  ...more,
  env: { ...process.env, ANTHROPIC_BASE_URL: model.url, ...more.env },
})

/** One query to its end: every message that came. */
export async function ask(prompt, model, more) {
  const messages = []
  for await (const message of sdk.query({ prompt, options: options(model, more) })) messages.push(message)
  return messages
}

/** A query that must throw: the messages before, and the error. */
export async function fails(prompt, model, more) {
  const messages = []
  try {
    for await (const message of sdk.query({ prompt, options: options(model, more) })) messages.push(message)
  } catch (error) {
    return { messages, error }
  }
  assert.fail(`nothing was thrown after ${JSON.stringify(messages)}`)
}

/** Prompts that are sent one by one: `push` sends, `end` closes. */
export function prompts() {
  const waiting = []
  let wake = () => {}
  let open = true
  return {
    push(text, more = {}) {
      const message = { role: 'user', content: text }
      waiting.push({ type: 'user', message, parent_tool_use_id: null, session_id: '', ...more })
      wake()
    },
    end() {
      open = false
      wake()
    },
    async *[Symbol.asyncIterator]() {
      while (open || waiting.length) {
        if (waiting.length) yield waiting.shift()
        else await new Promise((resolve) => (wake = resolve))
      }
    },
  }
}

/** Reads on until a message fits; returns everything read, that one last. */
export async function until(query, fits) {
  const read = []
  while (true) {
    const { value, done } = await query.next()
    if (done) assert.fail(`it never came; read ${JSON.stringify(read)}`)
    read.push(value)
    if (fits(value)) return read
  }
}

export const of = (messages, type, subtype) =>
  messages.filter((message) => message.type === type && (!subtype || message.subtype === subtype))

export function result(messages) {
  const results = of(messages, 'result')
  assert.equal(results.length, 1, `one result, not ${JSON.stringify(results)}`)
  return results[0]
}

export const blocks = (messages, type) =>
  messages
    .filter((message) => ['assistant', 'user'].includes(message.type) && Array.isArray(message.message.content))
    .flatMap((message) => message.message.content)
    .filter((block) => block.type === type)

export const sentText = (request) => JSON.stringify(request.messages)

export const systemText = (request) =>
  typeof request.system === 'string' ? request.system : (request.system ?? []).map((block) => block.text).join('\n')

export function write(name, text) {
  mkdirSync(dirname(join(HERE, name)), { recursive: true })
  writeFileSync(join(HERE, name), text)
}

export const read = (name) => readFileSync(join(HERE, name), 'utf8')
