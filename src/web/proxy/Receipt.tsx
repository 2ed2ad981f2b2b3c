import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { download } from "../shared/download.ts"
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
      <dl class="facts">
        <dt>Signed by</dt>
        <dd>
          <code>{receipt.iss}</code>
        </dd>
        <dt>Served by</dt>
        <dd>
          {receipt.provider}, {receipt.model}
        </dd>
        <dt>Tokens</dt>
        <dd>{tokens(receipt.usage)}</dd>
      </dl>
      <details class="small">
        <summary>Details, and how to verify</summary>
        <div class="stack tight">
          <dl class="facts">
            <dt>Answered</dt>
            <dd>{time(receipt.completed_at)}</dd>
            <dt>Request</dt>
            <dd>
              <code>{receipt.jti}</code>
            </dd>
            <dt>Proof</dt>
            <dd>
              {plural(proof.count, "frame")}, chain ends in <code>{proof.root.slice(0, 12)}…</code>
            </dd>
            <dt>Prompt kept?</dt>
            <dd>No, according to the operator. This is a claim, not a proof.</dd>
          </dl>
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
