import type { ReceiptClaims } from "../../domain/protocol/statement.ts"
import { type ProvenExchange, provenAnswer } from "../../client/verification/provenAnswer.ts"
import { timeOf } from "../attest/describeCode.ts"
import { printableLine } from "../printable.ts"
import { tokensText } from "../tokensText.ts"
import { bold, dim, green } from "../terminal.ts"
import type { Verified } from "./check.ts"

const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`

const tokens = (usage: Readonly<Record<string, unknown>> | null): string =>
  usage === null ? "The provider reported no token counts." : `It used ${tokensText(usage)}.`

/** Longest quotation of a prompt or answer, in characters. */
const MAX_SHOWN = 300

const shown = (text: string): string => JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text)

const answerText = (exchange: ProvenExchange): string => provenAnswer(exchange)?.text ?? "null"

export const kindOf = ({ exchange, proof, receipt }: Verified): string => {
  if (exchange !== undefined) return "revealed exchange"
  return [receipt && "receipt", proof && "proof"].filter((kind) => kind !== undefined).join(" and ")
}

const servedBy = ({ model, provider, status }: ReceiptClaims): string => {
  if (provider === null) return "No provider was called"
  return status === "complete"
    ? `${provider} served it with the model ${model}`
    : `${provider} was called last, with the model ${model}`
}

const receiptLines = ({ receipt }: Verified): ReadonlyArray<string> =>
  receipt === undefined
    ? []
    : [
        `Request ${receipt.jti ?? "without an id"} came at ${timeOf(receipt.received_at)} and was answered at ${timeOf(receipt.completed_at)}.`,
        `${servedBy(receipt)}; it ended as ${receipt.status}` +
          (receipt.finish_reasons.length === 0 ? "." : ` (${receipt.finish_reasons.join(", ")}).`),
        tokens(receipt.usage),
      ]

const proofLines = ({ proof, recorded }: Verified): ReadonlyArray<string> => {
  if (proof === undefined) return []
  const frames = count(proof.count, "frame")
  return [
    recorded
      ? `The recorded stream is exactly what was sent: ${frames}.`
      : `A stream was sent completely: ${frames}. The file has no recording to compare it with.`,
  ]
}

const exchangeLines = ({ exchange }: Verified): ReadonlyArray<string> => {
  if (exchange === undefined) return []
  const completion = exchange.request["body"]
  return [
    "The exact request and answer, to the byte:",
    `  asked     ${shown(JSON.stringify(completion))}`,
    `  answered  ${shown(answerText(exchange))}`,
  ]
}

const limits = ({ exchange, receipt }: Verified): string =>
  [
    "It does not prove that the answer is right",
    ...(receipt === undefined ? [] : ["nor that the prompt was not kept, for which you must trust the operator"]),
    ...(exchange === undefined && receipt !== undefined ? ["and it does not show the request or the answer"] : []),
  ].join(", ") + "."

export const explain = (verified: Verified): string =>
  [
    `${green("✓")} ${bold(`This ${kindOf(verified)} is genuine.`)}`,
    `  Signed by ${verified.kid}`,
    ...[...receiptLines(verified), ...proofLines(verified), ...exchangeLines(verified)].map(
      (line) => `  ${printableLine(line)}`,
    ),
    dim(`  ${limits(verified)}`),
  ].join("\n")
