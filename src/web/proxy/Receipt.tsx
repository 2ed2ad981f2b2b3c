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

/** What the proxy signed about an answer, and how to keep it. */
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
        <dd>No, says the operator. That is their word, not a proof.</dd>
      </dl>
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
      <p class="small muted">
        Anybody can check them, offline: <code>{`sealgate verify receipt-….json --pin ${receipt.iss}`}</code>. The first
        file reveals nothing of what was said; the second one proves it, word for word.
      </p>
    </section>
  )
}
