// Sessions that outlive a process: fork, the SDK's own readers and writers, stores, checkpoints.

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HERE, ask, assert, call, fails, model, of, options, prompts, read, result, say, sdk, sentText, until, write } from './world.mjs'

const dir = HERE

export async function fork() {
  const api = await model([say('one'), say('two')])
  const { session_id: source } = result(await ask('remember plum', api))
  const sessionId = randomUUID()
  const forked = result(await ask('go on', api, { resume: source, forkSession: true, sessionId }))
  assert.equal(forked.session_id, sessionId)
  assert.match(sentText(api.requests()[1]), /plum/)
}

export async function dropsTurn() {
  const api = await model([say('one'), say('two'), say('three')])
  const { session_id: resume } = result(await ask('question one', api))
  await ask('question two', api, { resume })
  const [, answer, prompt] = await sdk.getSessionMessages(resume, { dir })
  const refused = await fails('no', await model([say('never')]), { resume, resumeSessionAt: answer.uuid, resumeDropsTurn: randomUUID() })
  assert.match(refused.error.message, /Resume rejected by --resume-drops-turn:/)
  await ask('question three', api, { resume, resumeSessionAt: answer.uuid, resumeDropsTurn: prompt.uuid })
  assert.doesNotMatch(sentText(api.requests()[2]), /question two/)
}

export async function unknownSession() {
  const resume = randomUUID()
  const { error } = await fails('hi', await model([say('never')]), { resume })
  assert.match(error.message, new RegExp(`No conversation found with session ID: ${resume}`))
}

export async function managedByTheSdk() {
  const parallel = { content: [0, 1, 2].flatMap((n) => call('Bash', { command: `echo ${n}` }).content) }
  const api = await model([parallel, say('counted'), say('from the fork')])
  const messages = await ask('count with me', api, { allowedTools: ['Bash'] })
  const { session_id: session } = result(messages)
  const [info] = await sdk.listSessions({ dir })
  assert.deepEqual([info.sessionId, info.firstPrompt], [session, 'count with me'])
  const found = await sdk.getSessionMessages(session, { dir })
  assert.deepEqual(found.map((message) => message.type), ['user', ...Array(3).fill('assistant'), ...Array(3).fill('user'), 'assistant'])
  const stored = new Set(found.map((message) => message.uuid))
  assert.ok(messages.filter((message) => ['assistant', 'user'].includes(message.type)).every((message) => stored.has(message.uuid)))
  await sdk.renameSession(session, 'Counting', { dir })
  await sdk.tagSession(session, 'math', { dir })
  const renamed = await sdk.getSessionInfo(session, { dir })
  assert.deepEqual([renamed.customTitle, renamed.tag], ['Counting', 'math'])
  const { sessionId: forked } = await sdk.forkSession(session, { dir })
  const resumed = await ask('still counting?', api, { resume: forked })
  assert.deepEqual([result(resumed).session_id, result(resumed).result], [forked, 'from the fork'])
  assert.match(sentText(api.requests().at(-1)), /count with me/)
  await sdk.deleteSession(session, { dir })
  assert.deepEqual((await sdk.listSessions({ dir })).map((one) => one.sessionId), [forked])
}

export async function store() {
  const sessionStore = new sdk.InMemorySessionStore()
  const api = await model([say('one'), say('two')])
  const { session_id: resume } = result(await ask('remember plum', api, { sessionStore }))
  await sdk.deleteSession(resume, { dir })
  assert.equal(result(await ask('what word?', api, { sessionStore, resume })).session_id, resume)
  assert.match(sentText(api.requests()[1]), /plum/)
}

export async function rewind() {
  write('kept.txt', 'before\n')
  const [kept, made] = [join(HERE, 'kept.txt'), join(HERE, 'made.txt')]
  const turns = [call('Read', { file_path: kept }), call('Edit', { file_path: kept, old_string: 'before', new_string: 'after' })]
  const api = await model([...turns, call('Write', { file_path: made, content: 'new' }), say('done')])
  const input = prompts()
  const query = sdk.query({
    prompt: input,
    options: options(api, { enableFileCheckpointing: true, permissionMode: 'acceptEdits', extraArgs: { 'replay-user-messages': null } }),
  })
  const uuid = randomUUID()
  input.push('change things', { uuid })
  const messages = await until(query, (message) => message.type === 'result')
  assert.deepEqual(of(messages, 'user').filter((message) => message.isReplay).map((message) => message.uuid), [uuid])
  await assert.rejects(query.rewindFiles(randomUUID()), /No file checkpoint found/)
  const dry = await query.rewindFiles(uuid, { dryRun: true })
  assert.ok(dry.canRewind && dry.insertions >= 1 && dry.deletions >= 1, JSON.stringify(dry))
  assert.deepEqual(new Set(dry.filesChanged), new Set([kept, made]))
  assert.equal(read('kept.txt'), 'after\n')
  await query.rewindFiles(uuid)
  assert.equal(read('kept.txt'), 'before\n')
  assert.ok(!existsSync(made))
  input.end()
}
