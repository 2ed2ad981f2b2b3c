import { DateTime, Option } from "effect"
import type { SnpTcb } from "../../attestation/policy.ts"
import type { ProvenCode } from "../../client/attestation/Policy.ts"
import { decodeBase64Url, fromUtf8 } from "../../domain/bytes/bytes.ts"
import { printable, printableLine } from "../printable.ts"

/** Formats seconds since the epoch. Signed numbers may be beyond all dates. */
export const timeOf = (seconds: number): string =>
  Option.match(DateTime.make(seconds * 1000), {
    onNone: () => `${seconds} s after 1970`,
    onSome: DateTime.formatIso,
  })

/** One sentence: which code had the key, where, and no later than when. */
export const codeSentence = ({ chip, configuration, hardware, kept, kid, measurement }: ProvenCode): string =>
  printableLine(
    `Key ${kid} was in code ${measurement} with configuration ${configuration} on ${hardware}` +
      `${chip === undefined ? "" : ` ${chip.slice(0, 16)}…`} no later than ${timeOf(kept.verified_at)}, by the clock of the file's writer.`,
  )

/** Versions of AMD's firmware; only Turin has an FMC. */
export const firmwareText = ({ bootloader, fmc = 0, microcode, snp, tee }: SnpTcb): string =>
  `bootloader ${bootloader}, TEE ${tee}, SNP ${snp}, microcode ${microcode}${fmc === 0 ? "" : `, FMC ${fmc}`}`

const firmwareLines = ({ tcb }: ProvenCode): ReadonlyArray<string> =>
  tcb === undefined
    ? []
    : [
        `  firmware       ${firmwareText(tcb.reported)}`,
        `  committed      ${firmwareText(tcb.committed)}; the host cannot load older ones`,
      ]

const documentOf = ({ kept }: ProvenCode): string => {
  const bytes = decodeBase64Url(String(kept.answer["configuration"]))
  return JSON.stringify(JSON.parse(bytes === undefined ? "null" : fromUtf8(bytes)), null, 2)
}

/** Facts in lines, with the configuration in full. */
export const codeLines = (code: ProvenCode): string =>
  [
    `  key            ${code.kid}`,
    `  hardware       ${printableLine(code.hardware)}`,
    `  chip           ${code.chip ?? "not named"}`,
    ...firmwareLines(code),
    `  code           ${printableLine(code.measurement)}`,
    `  configuration  ${code.configuration}, which is:`,
    ...printable(documentOf(code))
      .split("\n")
      .map((line) => `    ${line}`),
    `  valid until    ${timeOf(code.validUntil)}`,
  ].join("\n")
