import { useRef, useState } from "preact/hooks"
import { Bar } from "../shared/render.tsx"
import { AnotherIdentity } from "./AnotherIdentity.tsx"
import { Chat } from "./Chat.tsx"
import type { Pinned } from "./pins.ts"
import { Receipt } from "./Receipt.tsx"
import { Trust } from "./Trust.tsx"
import { useConversation } from "./useConversation.ts"
import { useFocusNext } from "./useFocusNext.ts"
import { usePins } from "./usePins.ts"
import { type ProxyState, useReadiness } from "./useReadiness.ts"
import { Traffic } from "./Traffic.tsx"

const statusOf = ({ providers, status }: ProxyState) => {
  if (status === "unavailable") return { class: "badge bad", text: "✕ not ready" }
  return providers === "degraded"
    ? { class: "badge warn", text: "! ready, but a provider fails" }
    : { class: "badge good", text: "✓ ready" }
}

const About = ({ state }: { readonly state: ProxyState | undefined }) => {
  if (state === undefined) return null
  const status = statusOf(state)
  return (
    <>
      <span class={status.class}>{status.text}</span>
      <span class="badge">{state.models.map(({ id, owned_by }) => `${owned_by} (${id})`).join(", ")}</span>
    </>
  )
}

const hintFor = (state: ProxyState | undefined): string =>
  state?.providers === "none"
    ? "No provider key is set, so the built-in echo answers with your own words. Everything else is real."
    : "Each question is sealed in this page; each piece of the answer is checked before you see it."

export const App = () => {
  const { decline, offered, pin, pinned } = usePins()
  const [chosen, setChosen] = useState<number>()
  const state = useReadiness()
  const { ask, clear, exchanges, stop } = useConversation(pinned.pins)
  const shown = exchanges.find(({ id }) => id === chosen) ?? exchanges.at(-1)

  const question = useRef<HTMLTextAreaElement>(null)
  const focusNext = useFocusNext()

  // Whoever pinned an identity, or kept one, can ask now; the field takes the focus once it is enabled.
  const pinAndAsk = (next: Pinned) => {
    pin(next)
    if (next.pins.length > 0) focusNext(question)
  }
  return (
    <>
      <Bar title="sealgate: sealed proxy">
        <About state={state} />
      </Bar>
      <main id="main" class="split" tabIndex={-1}>
        <div class="stack">
          {globalThis.isSecureContext || (
            <p class="note bad" role="alert">
              Browsers offer cryptography only to pages from https or from this machine (localhost). Open this console
              over https.
            </p>
          )}
          {offered !== undefined && (
            <AnotherIdentity
              pinned={pinned.pins}
              offered={offered}
              onKeep={() => {
                decline()
                focusNext(question)
              }}
              onTake={() => pinAndAsk({ pins: offered, from: "link" })}
            />
          )}
          <Trust pinned={pinned} onPin={pinAndAsk} />
          <Chat
            field={question}
            exchanges={exchanges}
            shown={shown?.id}
            hint={hintFor(state)}
            disabled={pinned.pins.length === 0}
            onShow={setChosen}
            onStop={stop}
            onClear={() => {
              clear()
              // The button that had the focus goes with the conversation.
              question.current?.focus()
            }}
            onAsk={(question, intrusion) => {
              setChosen(undefined)
              void ask(question, intrusion)
            }}
          />
          {shown?.end !== undefined && <Receipt exchange={shown} end={shown.end} />}
        </div>
        <Traffic exchange={shown} />
      </main>
    </>
  )
}
