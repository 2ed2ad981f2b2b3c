/** What the proxy says of itself. It is not signed: good to know, not to rely on. */
import { useEffect, useState } from "preact/hooks"
import { baseUrl } from "../shared/render.tsx"

interface Provider {
  readonly provider: string
  readonly configured: boolean
  readonly model: string
}

export interface ProxyState {
  /** Whether it takes requests, and whether a provider is left alone. */
  readonly status: "ready" | "degraded" | "unavailable"
  /** Those that are configured. */
  readonly providers: ReadonlyArray<Provider>
  readonly tls: { readonly mode: "off" | "tls" | "mtls" }
  readonly key_storage: "guarded" | "plain"
}

export const useReadiness = (): ProxyState | undefined => {
  const [state, setState] = useState<ProxyState>()
  useEffect(() => {
    const controller = new AbortController()
    const look = async () => {
      const response = await fetch(`${baseUrl()}/ready`, { signal: controller.signal })
      // Shown and not acted upon, and the page came from the same server, so its shape is taken as it is.
      const said = (await response.json()) as ProxyState
      setState({ ...said, providers: said.providers.filter(({ configured }) => configured) })
    }
    // Without it the page says less; whatever is wrong shows with the first question.
    look().catch(() => undefined)
    return () => controller.abort()
  }, [])
  return state
}
