import type { RefObject } from "preact"
import { useId, useRef, useState } from "preact/hooks"
import { type Pinned, readPins } from "./pins.ts"
import { CodeEvidence } from "./CodeEvidence.tsx"
import { useFocusNext } from "./useFocusNext.ts"

export const Pins = ({ pins }: { readonly pins: ReadonlyArray<string> }) => (
  <>
    {pins.map((pin) => (
      <code key={pin}>{pin}</code>
    ))}
  </>
)

/** The sender of the last answer, according to signatures. */
export type Heard = "them" | "somebody else" | "somebody between" | "nobody"

const badgeOf = (from: Pinned["from"], heard: Heard) => {
  if (heard === "somebody else") return { class: "badge bad", text: "✕ Somebody else answered" }
  if (heard === "somebody between") return { class: "badge bad", text: "✕ Somebody interfered" }
  if (from === "link") return { class: "badge warn", text: "○ From a link, not checked" }
  return heard === "them"
    ? { class: "badge good", text: "✓ Pinned, and it answers" }
    : { class: "badge", text: "● Pinned by you" }
}

interface BelievedProps {
  readonly pinned: Pinned
  readonly heard: Heard
  readonly change: RefObject<HTMLButtonElement | null>
  readonly onChange: () => void
  readonly onChecked: () => void
}

const Believed = ({ change, heard, onChange, onChecked, pinned }: BelievedProps) => (
  <section class="card trust" aria-label="Trust">
    <div class="row">
      <span class={badgeOf(pinned.from, heard).class}>{badgeOf(pinned.from, heard).text}</span>
      <button type="button" class="quiet push" ref={change} onClick={onChange}>
        Change
      </button>
    </div>
    {pinned.from === "link" && (
      <>
        <Pins pins={pinned.pins} />
        <div class="row">
          <p class="small">
            The author of the link chose it. Compare it with the key id from the operator of this proxy.
          </p>
          <button type="button" onClick={onChecked}>
            I checked it
          </button>
        </div>
      </>
    )}
    <details class="small">
      <summary>{pinned.from === "link" ? "What this protects" : "Key id, and what it protects"}</summary>
      <div class="stack tight">
        {pinned.from === "person" && <Pins pins={pinned.pins} />}
        <p class="muted">
          Questions are sealed only to this identity. This page comes from the proxy itself: it shows how sealing works,
          but only the <code>sealgate</code> command and the client library protect you from a proxy that serves another
          page.
        </p>
      </div>
    </details>
    <CodeEvidence pins={pinned.pins} />
  </section>
)

interface PinFormProps {
  readonly text: string
  readonly input: RefObject<HTMLInputElement | null>
  readonly onText: (text: string) => void
  readonly onPins: (pins: ReadonlyArray<string>) => void
  /** Absent if nothing is pinned yet. */
  readonly cancel: { readonly onKeep: () => void; readonly onForget: () => void } | undefined
}

const PinForm = ({ cancel, input, onPins, onText, text }: PinFormProps) => {
  const [mistake, setMistake] = useState<string>()
  const field = useId()
  const hint = useId()
  const submit = (event: Event) => {
    event.preventDefault()
    const read = readPins(text)
    if ("mistake" in read) return setMistake(read.mistake)
    setMistake(undefined)
    onPins(read.pins)
  }
  return (
    <form class="stack" onSubmit={submit}>
      <div class="field">
        <label for={field}>Key id to pin</label>
        <input
          id={field}
          ref={input}
          type="text"
          class="mono"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder="43 characters, such as GjmHpv0u…"
          value={text}
          aria-describedby={hint}
          aria-invalid={mistake !== undefined}
          onInput={(event) => onText(event.currentTarget.value)}
        />
        <p
          id={hint}
          class={mistake === undefined ? "small muted" : "note bad"}
          role={mistake === undefined ? undefined : "alert"}
        >
          {mistake ?? "During a key rotation, several separated by spaces."}
        </p>
      </div>
      <div class="row">
        <button type="submit" class="primary">
          Pin this identity
        </button>
        {cancel !== undefined && (
          <>
            <button type="button" onClick={cancel.onKeep}>
              Keep it as it is
            </button>
            <button
              type="button"
              onClick={() => {
                setMistake(undefined)
                cancel.onForget()
              }}
            >
              Forget
            </button>
          </>
        )}
      </div>
    </form>
  )
}

interface TrustProps {
  readonly pinned: Pinned
  readonly heard: Heard
  readonly onPin: (pinned: Pinned) => void
}

export const Trust = ({ heard, onPin, pinned }: TrustProps) => {
  const { pins } = pinned
  const [changing, setChanging] = useState(false)
  const [text, setText] = useState("")
  const change = useRef<HTMLButtonElement>(null)
  const input = useRef<HTMLInputElement>(null)
  const focusNext = useFocusNext()
  const pin = (next: ReadonlyArray<string>) => {
    setChanging(false)
    onPin({ pins: next, from: "person" })
  }
  if (pins.length > 0 && !changing) {
    return (
      <Believed
        pinned={pinned}
        heard={heard}
        change={change}
        onChecked={() => pin(pins)}
        onChange={() => {
          setText(pins.join(" "))
          setChanging(true)
          focusNext(input)
        }}
      />
    )
  }
  return (
    <section class="card stack trust" aria-label="Trust">
      <h2>Which identity do you trust?</h2>
      <p>
        A question is sealed only to a key that the proxy’s identity has signed. Ask its operator for the key id: the
        proxy logs it at start, and <code>sealgate pin</code> prints it.
      </p>
      <PinForm
        text={text}
        input={input}
        onText={setText}
        onPins={pin}
        cancel={
          pins.length === 0
            ? undefined
            : {
                onKeep: () => {
                  setChanging(false)
                  focusNext(change)
                },
                onForget: () => {
                  setText("")
                  pin([])
                  focusNext(input)
                },
              }
        }
      />
    </section>
  )
}
