/** Evidence of Linux 6.7 and later: configfs-tsm (Documentation/ABI/testing/configfs-tsm-report). */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { reportData } from "../../domain/protocol/evidence.ts"
import { contains, EvidencePlaces, EvidenceSource, SourceFailed } from "./EvidenceSource.ts"

const FORMATS: Readonly<Record<string, "tdx" | "sev-snp">> = { tdx_guest: "tdx", sev_guest: "sev-snp" }

type Files = (typeof EvidencePlaces.Service)["files"]

/**
 * Reads a report. The kernel counts each write to an entry, so an unexpected count means that another program wrote to
 * it.
 */
const readReport = async ({ readFile, writeFile }: Files, folder: string, data: Uint8Array) => {
  const generation = async () => Number((await readFile(join(folder, "generation"))).toString())
  const before = await generation()
  await writeFile(join(folder, "inblob"), data)
  const report = await readFile(join(folder, "outblob"))
  const provider = (await readFile(join(folder, "provider"))).toString().trim()
  // Not every provider has one.
  const collateral = await readFile(join(folder, "auxblob")).catch(() => undefined)
  return { report, provider, collateral, isOurs: (await generation()) === before + 1 }
}

export const layerTsm = Layer.effect(
  EvidenceSource,
  Effect.gen(function* () {
    const { files, tsmFolder } = yield* EvidencePlaces
    const failed = (problem: string) => new SourceFailed({ problem: `${tsmFolder}: ${problem}` })
    const attempt = <A>(what: string, run: () => Promise<A>) =>
      Effect.tryPromise({ try: run, catch: (cause) => failed(`${what} (${fileReason(cause)})`) })
    /** A new entry for each report, removed afterwards. */
    const entry = Effect.acquireRelease(
      Effect.suspend(() => {
        const folder = join(tsmFolder, `sealgate-${randomUUID()}`)
        return Effect.as(
          attempt("no entry can be made", () => files.mkdir(folder)),
          folder,
        )
      }),
      (folder) => Effect.promise(() => files.rmdir(folder).catch(() => undefined)),
    )
    return EvidenceSource.of({
      report: Effect.fnUntraced(function* (binding) {
        const folder = yield* entry
        const read = yield* attempt("no report can be read", () => readReport(files, folder, reportData(binding)))
        const format = FORMATS[read.provider]
        if (format === undefined) return yield* failed(`the provider ${JSON.stringify(read.provider)} is not supported`)
        if (!read.isOurs) return yield* failed("the entry was written to by another process: its generation jumped")
        if (!contains(format, read.report, binding)) return yield* failed("the report is for other data than was asked")
        const collateral = read.collateral?.length === 0 ? undefined : read.collateral
        return { format, report: read.report, collateral }
      }, Effect.scoped),
    })
  }),
)
