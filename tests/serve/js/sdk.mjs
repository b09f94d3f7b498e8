// sandbox-agent's published SDK against `ralph serve`: address, token and folder are arguments; one line of JSON is the verdict.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, baseUrl, token, folder, agent] = process.argv.slice(2);
const require = createRequire(pathToFileURL(modules + "/").href);
const { SandboxAgent } = await import(pathToFileURL(require.resolve("sandbox-agent").replace(/\.cjs$/, ".js")).href);

const client = await SandboxAgent.connect({ baseUrl, token });
const seen = {};
seen.health = (await client.getHealth()).status;
seen.agents = (await client.listAgents()).agents.map((one) => one.id);
await client.writeFsFile({ path: folder + "/sdk.txt" }, "from the SDK");
seen.file = new TextDecoder().decode(await client.readFsFile({ path: folder + "/sdk.txt" }));
seen.entries = (await client.listFsEntries({ path: folder })).map((one) => one.name);
const ran = await client.runProcess({ command: "sh", args: ["-c", "echo hi; exit 0"], cwd: folder });
seen.ran = [ran.exitCode, ran.stdout];
try {
  await client.readFsFile({ path: "/etc/passwd" });
} catch (error) {
  seen.outside = error.status;
}
if (agent) {
  const session = await client.createSession({ agent, sessionInit: { cwd: folder, mcpServers: [] } });
  seen.permissions = 0;
  session.onPermissionRequest?.((request) => {
    seen.permissions += 1;
    session.respondPermission(request.id, "once");
  });
  const result = await session.prompt([{ type: "text", text: "Hello" }]);
  seen.stop = result.stopReason;
  const events = await client.getEvents({ sessionId: session.id });
  seen.updates = events.items.filter((event) => event.payload?.method === "session/update").length;
}
await client.dispose();
console.log(JSON.stringify(seen));
process.exit(0);
