import type { RefObject } from "preact"
import { useId, useRef, useState } from "preact/hooks"
import { readPins } from "./pins.ts"
import { useFocusNext } from "./useFocusNext.ts"

interface TrustProps {
  readonly pins: ReadonlyArray<string>
  readonly onPins: (pins: ReadonlyArray<string>) => void
}

interface PinnedProps {
  readonly pins: ReadonlyArray<string>
  readonly change: RefObject<HTMLButtonElement | null>
  readonly onChange: () => void
}

const Pinned = ({ change, onChange, pins }: PinnedProps) => (
  <section class="card trust" aria-label="Trust">
    <div class="row">
      <span class="badge good">✓ Pinned</span>
      <button type="button" class="quiet push" ref={change} onClick={onChange}>
        Change
      </button>
    </div>
    {pins.map((pin) => (
      <code key={pin}>{pin}</code>
    ))}
    <p class="small muted">
      Nothing is sealed to anybody else. This page comes from the proxy itself: it shows how sealing works, but against
      a proxy that serves you another page only the <code>sealgate</code> command and the client library help.
    </p>
  </section>
)

/** Which identity the reader believes, and how to say so. */
export const Trust = ({ onPins, pins }: TrustProps) => {
  const [changing, setChanging] = useState(false)
  const [text, setText] = useState("")
  const [mistake, setMistake] = useState<string>()
  const change = useRef<HTMLButtonElement>(null)
  const input = useRef<HTMLInputElement>(null)
  const focusNext = useFocusNext()
  const field = useId()
  const hint = useId()
  if (pins.length > 0 && !changing) {
    return (
      <Pinned
        pins={pins}
        change={change}
        onChange={() => {
          setText(pins.join(" "))
          setChanging(true)
          focusNext(input)
        }}
      />
    )
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const read = readPins(text)
    if ("mistake" in read) return setMistake(read.mistake)
    setMistake(undefined)
    setChanging(false)
    onPins(read.pins)
  }
  return (
    <section class="card stack trust" aria-label="Trust">
      <h2>Whom do you believe?</h2>
      <p>
        A question is sealed only to a key that the proxy’s identity has signed. Ask its operator for the key id: the
        proxy logs it at start, and <code>sealgate pin</code> prints it.
      </p>
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
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p
            id={hint}
            class={mistake === undefined ? "small muted" : "note bad"}
            role={mistake === undefined ? undefined : "alert"}
          >
            {mistake ?? "Several, separated by spaces, while a key is being rotated."}
          </p>
        </div>
        <div class="row">
          <button type="submit" class="primary">
            Pin this identity
          </button>
          {pins.length > 0 && (
            <>
              <button
                type="button"
                onClick={() => {
                  setMistake(undefined)
                  setChanging(false)
                  focusNext(change)
                }}
              >
                Keep it as it is
              </button>
              <button
                type="button"
                onClick={() => {
                  setMistake(undefined)
                  setChanging(false)
                  setText("")
                  onPins([])
                  focusNext(input)
                }}
              >
                Forget
              </button>
            </>
          )}
        </div>
      </form>
    </section>
  )
}
