/** Evidence of Linux 6.7 and later: configfs-tsm (Documentation/ABI/testing/configfs-tsm-report). */
import { randomUUID } from "node:crypto"
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { contains, EvidencePlaces, EvidenceSource, reportData, SourceFailed } from "./EvidenceSource.ts"

const FORMATS: Readonly<Record<string, "tdx" | "sev-snp">> = { tdx_guest: "tdx", sev_guest: "sev-snp" }

/** The kernel counts each write to an entry. Another count means that somebody else wrote to this one. */
const generationAt = async (folder: string) => Number(await readFile(join(folder, "generation"), "utf8"))

const readReport = async (folder: string, data: Buffer) => {
  const before = await generationAt(folder)
  await writeFile(join(folder, "inblob"), data)
  const report = await readFile(join(folder, "outblob"))
  const provider = (await readFile(join(folder, "provider"), "utf8")).trim()
  const collateral = await readFile(join(folder, "auxblob")).catch(() => undefined)
  return { report, provider, collateral, isOurs: (await generationAt(folder)) === before + 1 }
}

export const layerTsm = Layer.effect(
  EvidenceSource,
  Effect.gen(function* () {
    const { tsmFolder } = yield* EvidencePlaces
    const failed = (problem: string) => new SourceFailed({ problem: `${tsmFolder}: ${problem}` })
    const attempt = <A>(what: string, run: () => Promise<A>) =>
      Effect.tryPromise({ try: run, catch: (cause) => failed(`${what} (${fileReason(cause)})`) })
    /** An entry of one's own for each report, removed afterwards. */
    const entry = Effect.acquireRelease(
      Effect.suspend(() => {
        const folder = join(tsmFolder, `sealgate-${randomUUID()}`)
        return Effect.as(
          attempt("no entry can be made", () => mkdir(folder)),
          folder,
        )
      }),
      (folder) => Effect.promise(() => rmdir(folder).catch(() => undefined)),
    )
    return EvidenceSource.of({
      report: Effect.fnUntraced(function* (binding) {
        const folder = yield* entry
        const read = yield* attempt("no report can be read", () => readReport(folder, reportData(binding)))
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
