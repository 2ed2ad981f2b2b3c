/** Stand-ins for services of confidential machines that hand out evidence. Reports have the right layout and no signature. */
import { basename, dirname } from "node:path"
import { createServer, type IncomingMessage } from "node:http"
import { Effect } from "effect"

const textOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(Buffer.from(part))
  return Buffer.concat(parts).toString("utf8")
}

/** Members of requests that the stand-ins read. */
interface Asked {
  readonly report_data?: string
  readonly nonces?: ReadonlyArray<string>
}

type Answers = Readonly<Record<string, (asked: Asked) => unknown>>

/** Listens on a Unix socket until the scope closes; text is sent as it is, everything else as JSON. */
export const socketServer = (path: string, answers: Answers) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        void textOf(request).then((text) => {
          const answer = answers[request.url ?? ""]
          if (answer === undefined) return response.writeHead(404).end()
          const value = answer(JSON.parse(text) as Asked)
          return response.end(typeof value === "string" ? value : JSON.stringify(value))
        })
      })
      server.listen(path, () => resume(Effect.succeed({ close: () => server.close() })))
    }),
    ({ close }) => Effect.sync(close),
  )

/** A TDX quote with this report data. */
export const quoteFor = (reportData: string): string =>
  Buffer.concat([Buffer.alloc(568), Buffer.from(reportData, "hex")]).toString("hex")

export const dstackAnswers: Answers = {
  "/GetQuote": ({ report_data = "" }) => ({ quote: quoteFor(report_data), event_log: "[]" }),
  "/Info": () => ({ tcb_info: JSON.stringify({ app_compose: "{}" }) }),
  "/GetKey": () => ({ key: "11".repeat(32), signature_chain: [] }),
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

export const tokenFor = (nonce: unknown): string => `${part({ alg: "RS256" })}.${part({ eat_nonce: nonce })}.AAAA`

export const confidentialSpaceAnswers: Answers = { "/v1/token": ({ nonces = [] }) => tokenFor(nonces[0]) }

/** The kernel's answer to report data. */
interface Kernel {
  readonly report: (data: Buffer) => Buffer
  readonly collateral?: Buffer
}

/** A report without signature that holds the data at `at`. */
const unsigned = (at: number): Kernel => ({ report: (data) => Buffer.concat([Buffer.alloc(at), data]) })

/**
 * configfs-tsm in memory. `kernel` is a machine, or the place of the data in an unsigned report. `writesByOthers` others happen
 * to an entry after each write to it.
 */
export const configfs = (provider: string, kernel: Kernel | number, writesByOthers = 0) => {
  const { collateral, report } = typeof kernel === "number" ? unsigned(kernel) : kernel
  const entries = new Map<string, { generation: number; data: Buffer }>()
  const entryOf = (path: string) => {
    const entry = entries.get(dirname(path))
    if (entry === undefined) throw Object.assign(new Error("missing"), { code: "ENOENT" })
    return entry
  }
  return {
    entries,
    mkdir: async (path: string) => void entries.set(path, { generation: 0, data: Buffer.alloc(0) }),
    rmdir: async (path: string) => void entries.delete(path),
    writeFile: async (path: string, data: Uint8Array) => {
      const entry = entryOf(path)
      entry.data = Buffer.from(data)
      entry.generation += 1 + writesByOthers
    },
    readFile: async (path: string): Promise<Buffer> => {
      const { data, generation } = entryOf(path)
      const files: Readonly<Record<string, Buffer>> = {
        generation: Buffer.from(`${generation}\n`),
        provider: Buffer.from(`${provider}\n`),
        outblob: report(data),
        ...(collateral === undefined ? {} : { auxblob: collateral }),
      }
      const file = files[basename(path)]
      if (file === undefined) throw Object.assign(new Error("missing"), { code: "ENOENT" })
      return file
    },
  }
}
