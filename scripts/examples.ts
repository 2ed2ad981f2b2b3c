/** `npm run test:examples`: starts a proxy, a connector and a gateway, and runs every example against them. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startConnector, startGateway, startProxy } from "../examples/demo/serverProcess.ts"
import { PYTHON } from "../test/support/pythonCryptography.ts"

/** Time limit of one example, in milliseconds. */
const TIMEOUT_MS = 60_000
const ROOT = new URL("..", import.meta.url).pathname
const COMMAND = join(ROOT, "src/cli/main.ts")

interface Example {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Text that its output must contain. */
  readonly shows: string
}

const node = (file: string, shows: string): Example => ({
  name: file,
  command: process.execPath,
  args: ["--conditions=@sealgate/source", join(ROOT, "examples", file)],
  shows,
})

const SEALED_IN_PYTHON = join(ROOT, "examples/python/sealgate.py")

const python = (name: string, args: string, shows: string): Example => ({
  name: `python/sealgate.py ${name}`,
  command: PYTHON === undefined ? "python3 with cryptography" : "bash",
  args: ["-c", `${PYTHON} ${SEALED_IN_PYTHON} ${args}`],
  shows,
})

const EXAMPLES: ReadonlyArray<Example> = [
  python(
    "vectors",
    `vectors ${join(ROOT, "docs/protocol/vectors.json")} ${join(ROOT, "docs/protocol/negative.json")}`,
    " values, as ",
  ),
  {
    ...python("under the conformance kit", "", "passed, 0 failed"),
    args: [
      "-c",
      `${process.execPath} ${COMMAND} conformance client --only honest-stream --only C39 --only C43 -- ${PYTHON} ${SEALED_IN_PYTHON} chat {url} {pin} Hello`,
    ],
  },
  python("chat", 'chat "$SEALGATE_PROXY" "$SEALGATE_PIN" "Hello from Python"', "the receipt is signed by the pinned"),
  node("node-sdk.ts", "proven:"),
  node("openai-sdk.ts", "refused:"),
  node("ai-sdk.ts", "22 °C and sunny in Lisbon"),
  node("gateway-client.ts", "completed: inconclusive"),
  node("embedding.ts", "both stopped"),
  node("own-mode.ts", 'parcel? {"sent":"'),
  { name: "connector.sh", command: "bash", args: [join(ROOT, "examples/connector.sh")], shows: "data: [DONE]" },
  { name: "connector.py", command: "python3", args: [join(ROOT, "examples/connector.py")], shows: "Hello from Python" },
]

const isInstalled = (command: string): boolean => spawnSync(command, ["--version"]).error === undefined

let failures = 0
const tell = (name: string, problem: string | undefined): void => {
  if (problem !== undefined) failures++
  console.log(problem === undefined ? `✓ ${name}` : `✗ ${name}: ${problem}`)
}

const receipts = mkdtempSync(join(tmpdir(), "sealgate-examples-"))
const proxy = await startProxy()
const gateway = await startGateway({})
const trust = ["--proxy", proxy.url, "--pin", proxy.kid]
try {
  const connector = await startConnector(proxy, ["--receipts", receipts])
  const env = {
    ...process.env,
    SEALGATE_PROXY: proxy.url,
    SEALGATE_PIN: proxy.kid,
    OPENAI_BASE_URL: `${connector.url}/v1`,
    SEALGATE_GATEWAY: gateway.url,
    SEALGATE_TOKEN: gateway.token,
  }
  for (const { args, command, name, shows } of EXAMPLES) {
    if (command !== process.execPath && !isInstalled(command)) {
      console.log(`! ${name}: skipped, ${command} is not installed`)
      continue
    }
    const { status, stderr, stdout } = spawnSync(command, args, { env, encoding: "utf8", timeout: TIMEOUT_MS })
    if (status !== 0) tell(name, `exit code ${status}\n${stdout}${stderr}`)
    else tell(name, stdout.includes(shows) ? undefined : `its output lacks "${shows}"\n${stdout}`)
  }
  tell("the connector stops in order", (await connector.stop()) === 0 ? undefined : "another exit code than 0")

  // The connector's evidence of the examples verifies, and `doctor` passes.
  const [receipt] = readdirSync(receipts).map((name) => join(receipts, name))
  for (const args of [
    ["verify", receipt ?? "", "--pin", proxy.kid],
    ["doctor", ...trust],
    ["chat", ...trust, "Hello"],
  ]) {
    const { status, stderr, stdout } = spawnSync(process.execPath, [COMMAND, ...args], { encoding: "utf8" })
    tell(`sealgate ${args[0]}`, status === 0 ? undefined : `exit code ${status}\n${stdout}${stderr}`)
  }
  const told = readFileSync(receipt ?? "", "utf8").includes("Hello")
  tell("receipts do not contain the prompt", told ? "they do" : undefined)
} finally {
  tell("the gateway stops in order", (await gateway.stop()) === 0 ? undefined : "another exit code than 0")
  tell("the proxy stops in order", (await proxy.stop()) === 0 ? undefined : "another exit code than 0")
  rmSync(receipts, { recursive: true, force: true })
}
process.exit(failures === 0 ? 0 : 1)
