/** What the proxy says of itself. It is not signed: good to know, not to rely on. */
import { useEffect, useState } from "preact/hooks"
import type { PublicReadiness } from "../../domain/operations/readiness.ts"
import type { Model } from "../../client/sdk/vendors/models.ts"
import { baseUrl } from "../shared/render.tsx"

export interface ProxyState extends Partial<Pick<PublicReadiness, "providers">> {
  /** `silent`: it did not answer when it was asked last. */
  readonly status: PublicReadiness["status"] | "silent"
  readonly models: ReadonlyArray<Model>
}

/** How often it is asked, while the page is seen. */
const EVERY_MS = 5000

/** Asks now, whenever `occasion` changes, and every few seconds. */
export const useReadiness = (occasion: unknown): ProxyState | undefined => {
  const [state, setState] = useState<ProxyState>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const get = async (path: string): Promise<unknown> => (await fetch(`${baseUrl()}${path}`, { signal })).json()
    const look = async () => {
      if (document.hidden) return
      try {
        const [readiness, models] = await Promise.all([get("/ready"), get("/v1/models")])
        // Shown and not acted upon, and the page came from the same server, so its shape is taken as it is.
        const { data } = models as { readonly data: ReadonlyArray<Model> }
        setState({ ...(readiness as PublicReadiness), models: data })
      } catch {
        // Whatever it was, there was no answer that this page can read.
        if (!signal.aborted) setState((known) => ({ status: "silent", models: known?.models ?? [] }))
      }
    }
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [occasion])
  return state
}
