/** Sends requests with Python's `http.client`, as an independent program. */
import { execFile, spawnSync } from "node:child_process"

const PROGRAM = `
import http.client, json, sys

asked = json.loads(sys.stdin.read())
connection = http.client.HTTPConnection("127.0.0.1", asked["port"], timeout=20)
connection.request(asked["method"], asked["path"], asked.get("body"), asked.get("headers", {}))
response = connection.getresponse()
told = {"status": response.status, "headers": {k.lower(): v for k, v in response.getheaders()}, "broken": None}
text = ""
try:
    # Not line by line: there http.client does not notice that a chunked body was cut.
    while piece := response.read1(65536):
        text += piece.decode()
        if asked.get("until") is not None and asked["until"] in text:
            connection.close()
            break
except Exception as error:
    told["broken"] = type(error).__name__
told["lines"] = [line for line in text.split("\\n") if line]
print(json.dumps(told))
`

export interface PythonRequest {
  readonly port: number
  readonly method?: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Hangs up after a line with this text. */
  readonly until?: string
}

interface PythonAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly lines: ReadonlyArray<string>
  /** The exception that ended the reading of the body, if any. */
  readonly broken: string | null
}

/** True if Python is installed. */
export const havePython = spawnSync("python3", ["--version"]).status === 0
if (!havePython) console.warn("! python3 is not installed: the tests that use it are skipped")

export const askPython = (request: PythonRequest): Promise<PythonAnswer> =>
  new Promise((resolve, reject) => {
    const child = execFile("python3", ["-c", PROGRAM], (error, stdout, stderr) => {
      // The program prints exactly this shape.
      if (error === null) resolve(JSON.parse(stdout) as PythonAnswer)
      else reject(new Error(`python3 failed: ${stderr}`))
    })
    child.stdin?.end(JSON.stringify({ method: "POST", ...request }))
  })
