import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { baseUrl } from "../../shared/render.tsx"
import type { Failure } from "../failure.ts"
import { Problem } from "../View.tsx"
import { forgetToken, keepToken, type SignedIn, signIn } from "./signedIn.ts"
import type { Owner } from "./token.ts"

/** Asks for a token. The field holds it until it is tried, and nothing else ever does but the session. */
export const SignIn = ({
  onEnd,
  onSignedIn,
  reason,
}: {
  /** Why the last session ended. */
  readonly reason: Failure | undefined
  readonly onSignedIn: (session: SignedIn) => void
  readonly onEnd: (owner: Owner) => void
}) => {
  const field = useRef<HTMLInputElement>(null)
  const keep = useRef<HTMLInputElement>(null)
  const [failure, setFailure] = useState(reason)
  const [busy, setBusy] = useState(false)

  useLayoutEffect(() => {
    document.title = "Sign in · sealgate gateway"
    field.current?.focus()
  }, [])

  const submit = async (event: Event) => {
    event.preventDefault()
    const input = field.current
    if (input === null || busy) return
    setBusy(true)
    const outcome = await signIn(input.value, baseUrl(), onEnd)
    setBusy(false)
    if ("gateway" in outcome) {
      if (keep.current?.checked === true) keepToken(input.value)
      else forgetToken()
      input.value = ""
      onSignedIn(outcome)
      return
    }
    setFailure(outcome)
    input.focus()
    input.select()
  }

  return (
    <main id="main" class="sign-in stack" tabIndex={-1}>
      <h2>Sign in</h2>
      <p class="muted">
        Agents, their jobs and what routing saved, for the tenant that your token names. The token stays in this page's
        memory unless you have it kept.
      </p>
      {failure !== undefined && <Problem failure={failure} />}
      <form class="card stack" onSubmit={(event) => void submit(event)}>
        <div class="field">
          <label for="token">Token</label>
          <input
            id="token"
            type="password"
            ref={field}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            required
            aria-describedby="token-hint"
          />
          <p id="token-hint" class="small muted">
            A JSON Web Token, alone or with what it was printed with.
          </p>
        </div>
        <div class="field">
          <label class="choice" for="keep">
            <input id="keep" type="checkbox" ref={keep} aria-describedby="keep-hint" />
            Stay signed in when the page is loaded again
          </label>
          <p id="keep-hint" class="small muted">
            Keeps the token in this tab's session storage until you sign out or close the tab. Whoever can run a script
            on this page, or uses this tab after you, could read it there.
          </p>
        </div>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <section class="stack small" aria-labelledby="where">
        <h3 id="where">Where to get one</h3>
        <dl class="facts ways">
          <dt>To try it</dt>
          <dd>
            <code>sealgate gateway --dev</code> prints a token when it starts, good until it stops.
          </dd>
          <dt>With a secret</dt>
          <dd>
            <code>JWT_SECRET=… sealgate token --sub you --tenant yours --role admin</code> makes one that is good for an
            hour.
          </dd>
          <dt>In production</dt>
          <dd>Your identity provider issues it; ask whoever set the gateway up.</dd>
        </dl>
      </section>
    </main>
  )
}
