/** One interface to the evidence of all kinds of machines. */
import * as fs from "node:fs/promises"
import { Context, Duration, Effect, Schema } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { type EvidenceFormat, type ReportDataFormat, reportData, reportDataAt } from "../../domain/protocol/evidence.ts"

/** Evidence as the machine handed it out. */
export interface HardwareReport {
  readonly format: EvidenceFormat
  readonly report: Uint8Array
  /** For dstack, the event log and the app-compose text as JSON. For configfs-tsm, the certificates of `auxblob`. */
  readonly collateral?: Uint8Array | undefined
}

/** The machine supplied no evidence, or evidence of something else. `problem` contains no secrets. */
export class SourceFailed extends Schema.TaggedError<SourceFailed>()("SourceFailed", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/** How long a machine may take to answer. */
const PATIENCE = Duration.seconds(10)

/** Fails if the machine does not hand out `what` within 10 s. */
export const withPatience =
  (what: string) =>
  <A, R>(asked: Effect.Effect<A, SourceFailed, R>): Effect.Effect<A, SourceFailed, R> =>
    Effect.timeoutOrElse(asked, {
      duration: PATIENCE,
      orElse: () => Effect.fail(new SourceFailed({ problem: `no ${what} came within ${Duration.format(PATIENCE)}` })),
    })

/** The operations on configfs. */
type Files = Pick<typeof fs, "mkdir" | "rmdir"> & {
  readonly readFile: (path: string) => Promise<Buffer>
  readonly writeFile: (path: string, data: Uint8Array) => Promise<void>
}

interface Places {
  readonly dstackSocket: string
  readonly tsmFolder: string
  readonly files: Files
  readonly confidentialSpaceSocket: string
}

/** Fixed places of the sources. No setting changes them; tests replace them with stand-ins. */
export const EvidencePlaces = Context.Reference<Places>("sealgate/services/evidence/EvidencePlaces", {
  defaultValue: () => ({
    dstackSocket: "/var/run/dstack.sock",
    tsmFolder: "/sys/kernel/config/tsm/report",
    files: fs,
    confidentialSpaceSocket: "/run/container_launcher/teeserver.sock",
  }),
})

export class EvidenceSource extends Context.Service<
  EvidenceSource,
  {
    /**
     * Returns evidence that contains `binding`, which has 32 bytes. Fails if the machine returns evidence with another
     * binding.
     */
    readonly report: (binding: Bytes) => Effect.Effect<HardwareReport, SourceFailed>
  }
>()("sealgate/services/evidence/EvidenceSource") {}

/** Whether a TDX quote or a SEV-SNP report contains `binding`. */
export const contains = (format: ReportDataFormat, report: Buffer, binding: Bytes): boolean => {
  const at = reportDataAt(format, report)
  return report.subarray(at, at + 64).equals(reportData(binding))
}
