// Runs one scenario and prints one line of JSON: what became of it.

const [module, name] = process.argv.slice(2)
let verdict = { ok: true }
try {
  const scenarios = await import(`./${module}.mjs`)
  await scenarios[name]()
} catch (error) {
  verdict = { ok: false, why: String(error?.stack ?? error) }
}
process.stdout.write(JSON.stringify(verdict) + '\n', () => process.exit(0))
