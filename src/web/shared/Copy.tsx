import { useEffect, useState } from "preact/hooks"

const SHOWN_MS = 2000

/** An id, as a whole or as `shown`, and a button that copies it. Browsers allow that in secure contexts only. */
export const CopyableId = ({
  id,
  shown = id,
  what,
}: {
  readonly id: string
  readonly shown?: string
  readonly what: string
}) => {
  const [copied, setCopied] = useState<boolean>()
  useEffect(() => {
    if (copied === undefined) return
    const timer = setTimeout(() => setCopied(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () =>
    void navigator.clipboard.writeText(id).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <>
      <code title={shown === id ? undefined : id}>{shown}</code>{" "}
      {isSecureContext && (
        <button type="button" class="quiet copy" onClick={copy}>
          {copied === undefined ? "Copy" : copied ? "Copied" : "Not allowed"}
          <span class="visually-hidden"> the {what}</span>
        </button>
      )}
    </>
  )
}
