import { useState } from "preact/hooks"
import { Facts } from "../shared/Facts.tsx"
import { baseUrl } from "../shared/render.tsx"
import { askForCode, type CodeShown } from "./codeEvidence.ts"

const Shown = ({ code, pins }: { readonly code: CodeShown; readonly pins: ReadonlyArray<string> }) => {
  if (code.kind === "none") {
    return <p class="note">This proxy shows no evidence: it does not run in evidence mode.</p>
  }
  if (code.kind === "failed") {
    return (
      <p class="note bad" role="alert">
        {code.why}
      </p>
    )
  }
  return (
    <>
      <span class={code.bound && pins.includes(code.kid) ? "badge warn" : "badge bad"}>
        {!code.bound
          ? "✕ Not about this key, configuration and question"
          : pins.includes(code.kid)
            ? "○ Shown, not verified"
            : "✕ Evidence of another key than the pinned one"}
      </span>
      <Facts
        of={[
          ["Format", code.format],
          ["Key", <code>{code.kid}</code>],
        ]}
      />
      <p>
        Checked: the report names the key, the configuration below and this page’s fresh nonce. Not checked, because
        browsers cannot: who signed the report, certificates and revocation, firmware, and the measured code. The
        command checks them: <code>{`sealgate attest show ${baseUrl()}`}</code>
      </p>
      <pre tabIndex={0} aria-label="Configuration">
        {code.configuration}
      </pre>
    </>
  )
}

/** Shows the evidence of the proxy's code, and says what was not checked. */
export const CodeEvidence = ({ pins }: { readonly pins: ReadonlyArray<string> }) => {
  const [code, setCode] = useState<CodeShown>()
  const [asking, setAsking] = useState(false)
  const ask = async () => {
    setAsking(true)
    setCode(await askForCode())
    setAsking(false)
  }
  return (
    <details class="small">
      <summary>Which code runs there</summary>
      <div class="stack tight">
        <p class="muted">On a confidential machine, the hardware signs which code holds the key.</p>
        <div class="row">
          <button type="button" disabled={asking} onClick={() => void ask()}>
            Ask for evidence
          </button>
        </div>
        {code !== undefined && <Shown code={code} pins={pins} />}
      </div>
    </details>
  )
}
