/** examples/python/sealgate.py as a client under test, in one process for all cases. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import type { ClientVerdict } from "../../../src/conformance/client/judge.ts"
import { PYTHON } from "../../support/pythonCryptography.ts"
import type { Tester } from "../../../src/conformance/client/runCases.ts"

const PROGRAM = `
import contextlib, io, json, sys
sys.path.insert(0, "examples/python")
import sealgate

for line in sys.stdin:
    asked = json.loads(line)
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            sealgate.chat(asked["url"], asked["pin"], "hello")
        said = {"type": "believed", "output": shown.getvalue()}
    except (SystemExit, Exception) as error:
        said = {"type": "refused", "why": repr(error)}
    print(json.dumps(said), flush=True)
`

/** Asks one after the other. */
export const pythonTester = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => spawn(PYTHON ?? "python3", ["-c", PROGRAM], { stdio: ["pipe", "pipe", "inherit"] })),
    (child) => Effect.sync(() => void child.kill("SIGKILL")),
  ),
  (child): Tester => {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return (asked) =>
      Effect.promise(async (): Promise<ClientVerdict> => {
        child.stdin.write(`${JSON.stringify(asked)}\n`)
        const { value } = await lines.next()
        // The program prints exactly this shape.
        return JSON.parse(String(value)) as ClientVerdict
      })
  },
)
