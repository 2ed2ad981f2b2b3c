import { useEffect, useState } from "preact/hooks"
import { HOME, type Route, routeOf } from "./route.ts"

/** The route in the address. Places within the page leave it as it is. */
export const useRoute = (): Route => {
  const [route, setRoute] = useState(() => routeOf(location.hash) ?? HOME)
  useEffect(() => {
    const follow = () => setRoute((known) => routeOf(location.hash) ?? known)
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  return route
}
