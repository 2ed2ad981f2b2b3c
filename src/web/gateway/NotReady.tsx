import { useEffect, useState } from "preact/hooks"
import { baseUrl } from "../shared/render.tsx"

const EVERY_MS = 10_000
const UNAVAILABLE = 503

/** Warns while the gateway says that it is not ready: lists may still be shown, but no job begins. */
export const NotReady = () => {
  const [isUnready, setUnready] = useState(false)
  useEffect(() => {
    const controller = new AbortController()
    const look = async () => {
      if (document.hidden) return
      // Without an answer nothing is known; the views say that themselves.
      const answer = await fetch(`${baseUrl()}/ready`, { signal: controller.signal }).catch(() => undefined)
      if (answer !== undefined) setUnready(answer.status === UNAVAILABLE)
    }
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [])
  if (!isUnready) return null
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>This gateway is not ready.</strong> It is shutting down, its database does not answer, or its disk is
        full. Its log and <code>/ready</code> of the operator’s listener say which.
      </p>
    </div>
  )
}
