/** The machine's way to hand out evidence: one interface for all kinds of machines. */
import { Context, type Effect, Schema } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import type { EvidenceFormat } from "../../domain/protocol/evidence.ts"

/** Evidence as the machine handed it out. */
export interface Report {
  readonly format: EvidenceFormat
  readonly report: Uint8Array
  /** For dstack, the event log and the app-compose text as JSON. For configfs-tsm, the certificates of `auxblob`. */
  readonly collateral?: Uint8Array | undefined
}

/** The machine handed out no evidence, or evidence of something else. `problem` has no secrets. */
export class SourceFailed extends Schema.TaggedError<SourceFailed>()("SourceFailed", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/** Fixed places of the sources. No setting changes them; tests replace them with stand-ins. */
export const EvidencePlaces = Context.Reference("sealgate/services/evidence/EvidencePlaces", {
  defaultValue: () => ({
    dstackSocket: "/var/run/dstack.sock",
    tsmFolder: "/sys/kernel/config/tsm/report",
    confidentialSpaceSocket: "/run/container_launcher/teeserver.sock",
  }),
})

export class EvidenceSource extends Context.Service<
  EvidenceSource,
  {
    /** Returns evidence that contains `binding`, which has 32 bytes. Fails if the machine answers with another one's. */
    readonly report: (binding: Bytes) => Effect.Effect<Report, SourceFailed>
  }
>()("sealgate/services/evidence/EvidenceSource") {}

/** TDX and SEV-SNP sign 64 bytes: the binding and 32 zero bytes. */
export const reportData = (binding: Bytes): Buffer => Buffer.concat([binding, Buffer.alloc(32)])

/** Position of the 64 bytes in a report: AMD 56860 table 23, and Intel's TDX quote with a header of 48 bytes. */
const REPORT_DATA_AT: Readonly<Record<"tdx" | "dstack" | "sev-snp", number>> = {
  tdx: 568,
  dstack: 568,
  "sev-snp": 0x50,
}

/** Whether a TDX quote or a SEV-SNP report contains `binding`. */
export const contains = (format: keyof typeof REPORT_DATA_AT, report: Buffer, binding: Bytes): boolean => {
  const at = REPORT_DATA_AT[format]
  return report.subarray(at, at + 64).equals(reportData(binding))
}
