// Older TypeScript SDKs.

import { assert, call, load, model, of, options, read, say } from './world.mjs'

async function converse(version) {
  const { query } = await load(`sdk-${version}/sdk.mjs`)
  const api = await model([call('Bash', { command: 'echo original > out.txt' }), say('hello')])
  const messages = []
  const canUseTool = async (_, input) => ({ behavior: 'allow', updatedInput: { ...input, command: 'echo changed > out.txt' } })
  for await (const message of query({ prompt: 'hi', options: options(api, { canUseTool }) })) messages.push(message)
  assert.deepEqual([messages[0].type, messages[0].subtype], ['system', 'init'])
  assert.equal(of(messages, 'result')[0].result, 'hello')
  assert.equal(read('out.txt'), 'changed\n')
}

export const v0177 = () => converse('0.1.77')
export const v0291 = () => converse('0.2.91')
