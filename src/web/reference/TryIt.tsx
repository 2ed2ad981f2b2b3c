import { useEffect, useRef, useState } from "preact/hooks"
import { Field, fieldProps, focusMistake } from "../shared/Field.tsx"
import { Fold } from "./Fold.tsx"
import type { Operation } from "./openApi.ts"
import { type Draft, keyOf, missingIn, type Request } from "./request.ts"
import { legible, type Received, send } from "./send.ts"

/** Why a body is not JSON, in the browser's words. */
const mistakeIn = (body: string | undefined): string | undefined => {
  if (body === undefined) return undefined
  try {
    JSON.parse(body)
    return undefined
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

const Answer = ({ name, received }: { readonly name: string; readonly received: Received }) => (
  <div class="stack tight">
    <Fold summary="Headers">
      {() => <pre>{received.headers.map(([name, value]) => `${name}: ${value}`).join("\n")}</pre>}
    </Fold>
    {received.text !== "" && (
      <pre class="sample answer" role="region" aria-label={`Body of the answer: ${name}`} tabIndex={0}>
        {legible(received)}
      </pre>
    )}
    {received.cut && <p class="small muted">There was more, which is not shown.</p>}
  </div>
)

interface TryItProps {
  readonly operation: Operation
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly request: Request
  readonly token: string
}

/** Sends the request from this page, and shows what comes back. */
export const TryIt = ({ draft, onDraft, operation, request, token }: TryItProps) => {
  const [tried, setTried] = useState(false)
  const [received, setReceived] = useState<Received>()
  const [failure, setFailure] = useState<string>()
  const [sending, setSending] = useState<AbortController>()
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => () => sending?.abort(), [sending])

  const missing = tried ? missingIn(operation, draft) : []
  const bodyMistake = tried ? mistakeIn(draft.body) : undefined

  const submit = async (event: Event) => {
    event.preventDefault()
    if (sending !== undefined) return
    setTried(true)
    if (missingIn(operation, draft).length > 0 || mistakeIn(draft.body) !== undefined) {
      return form.current !== null && focusMistake(form.current)
    }
    const controller = new AbortController()
    const { signal } = controller
    setSending(controller)
    setReceived(undefined)
    setFailure(undefined)
    try {
      await send(request, { token, signal, heard: setReceived })
    } catch (error) {
      // What was stopped is as complete as it will ever be.
      if (signal.aborted) setReceived((received) => received && { ...received, complete: true, cut: true })
      else setFailure(error instanceof Error ? error.message : String(error))
    }
    setSending(undefined)
  }

  const status = (): string => {
    if (failure !== undefined) return `There was no answer: ${failure}`
    if (received === undefined) return sending === undefined ? "" : "Sending…"
    const head = `${received.status} ${received.statusText} after ${Math.round(received.ms)} ms`
    return received.complete ? head : `${head}; more is coming`
  }

  return (
    <form class="stack" ref={form} onSubmit={(event) => void submit(event)} noValidate>
      {(operation.parameters ?? []).map((parameter) => {
        const { example, in: place, name, required } = parameter
        const key = keyOf(parameter)
        const id = `${operation.operationId}-${place}-${name}`
        const mistake = missing.includes(parameter) ? "The path needs it." : undefined
        return (
          <Field
            key={key}
            id={id}
            label={`${name} (in the ${place}${required === true ? ", required" : ""})`}
            mistake={mistake}
          >
            <input
              type="text"
              class="mono"
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              value={draft.parameters[key] ?? ""}
              placeholder={example === undefined ? undefined : `such as ${String(example)}`}
              onInput={({ currentTarget: { value } }) =>
                onDraft({ ...draft, parameters: { ...draft.parameters, [key]: value } })
              }
              {...fieldProps(id, mistake)}
            />
          </Field>
        )
      })}
      {draft.body !== undefined && (
        <Field id={`${operation.operationId}-body`} label="Body (JSON)" mistake={bodyMistake}>
          <textarea
            class="mono"
            rows={8}
            autocapitalize="off"
            spellcheck={false}
            value={draft.body}
            onInput={({ currentTarget: { value } }) => onDraft({ ...draft, body: value })}
            {...fieldProps(`${operation.operationId}-body`, bodyMistake)}
          />
        </Field>
      )}
      {request.needsToken && token === "" && (
        <p class="small muted">Without a token in the field at the top, the server refuses this.</p>
      )}
      <div class="row">
        <button type="submit" class="primary" aria-disabled={sending !== undefined}>
          Send
        </button>
        <button type="button" aria-disabled={sending === undefined} onClick={() => sending?.abort()}>
          Stop
        </button>
        <p class="status" role="status">
          {status()}
        </p>
      </div>
      {received !== undefined && <Answer name={operation.summary ?? operation.operationId} received={received} />}
    </form>
  )
}
