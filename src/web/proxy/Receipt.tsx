import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { download } from "../shared/download.ts"
import { Facts } from "../shared/Facts.tsx"
import { plural } from "../shared/format.ts"
import { receiptFile, revealedFile } from "./receiptFiles.ts"
import type { Exchange } from "./exchanges.ts"

const time = (seconds: number): string => new Date(seconds * 1000).toLocaleString()

const tokens = (usage: StreamEnd["receipt"]["usage"]): string =>
  usage === null
    ? "not counted by the provider"
    : `${String(usage["prompt_tokens"])} in, ${String(usage["completion_tokens"])} out`

interface ReceiptProps {
  readonly exchange: Exchange
  readonly end: StreamEnd
}

export const Receipt = ({ end, exchange }: ReceiptProps) => {
  const { proof, receipt } = end
  return (
    <section class="card stack" aria-label="Receipt">
      <div class="row">
        <h2>Receipt and proof</h2>
        <span class="badge good">✓ verified</span>
      </div>
      <Facts
        of={[
          ["Signed by", <code>{receipt.iss}</code>],
          ["Served by", `${receipt.provider}, ${receipt.model}`],
          ["Tokens", tokens(receipt.usage)],
        ]}
      />
      <details class="small">
        <summary>Details, and how to verify</summary>
        <div class="stack tight">
          <Facts
            of={[
              ["Answered", time(receipt.completed_at)],
              ["Request", <code>{receipt.jti}</code>],
              [
                "Proof",
                <>
                  {plural(proof.count, "frame")}, chain ends in <code>{proof.root.slice(0, 12)}…</code>
                </>,
              ],
              ["Prompt kept?", "No, according to the operator. This is a claim, not a proof."],
            ]}
          />
          <p class="muted">
            Anyone can verify them offline: <code>{`sealgate verify receipt-….json --pin ${receipt.iss}`}</code>. The
            first file does not reveal the conversation; the second proves it word for word.
          </p>
        </div>
      </details>
      <div class="row">
        <button
          type="button"
          class="primary"
          onClick={() => download(`receipt-${receipt.jti}.json`, receiptFile(exchange, end))}
        >
          Download receipt and proof
        </button>
        <button type="button" onClick={() => download(`revealed-${receipt.jti}.json`, revealedFile(exchange, end))}>
          Download with question and answer
        </button>
      </div>
    </section>
  )
}
