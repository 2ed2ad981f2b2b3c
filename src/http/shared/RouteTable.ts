/** The paths that exist and their methods, used to count requests by kind, to label them, and to refuse methods. */
import { Context } from "effect"
import { FindMyWay } from "effect/http"

export interface MatchedRoute {
  /** Parameters are `:name`. */
  readonly path: string
  readonly annotations: Context.Context<never>
}

export interface RouteTable {
  /** The route of a request; `HEAD` has that of `GET`. */
  readonly find: (method: string, url: string) => MatchedRoute | undefined
  /** Methods of the path of `url`; empty if there is no such path. */
  readonly methods: (url: string) => ReadonlyArray<string>
}

/** Replaces the path of an unknown route in metrics and logs, because any stranger can choose such a path. */
export const UNKNOWN_ROUTE = "unknown"

/** The path of a request's target, without its query. */
export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

/** The endpoints of an API, as far as routing needs them. */
export interface Endpoints {
  readonly groups: Readonly<
    Record<
      string,
      {
        readonly endpoints: Readonly<
          Record<
            string,
            { readonly method: string; readonly path: `/${string}`; readonly annotations: MatchedRoute["annotations"] }
          >
        >
      }
    >
  >
}

/**
 * The routes of an API, and others as pairs `[method, path]`. Global middleware runs before the server's router has matched,
 * so this is a second instance of that router: another matcher could count a path as another route than serves it.
 */
export const makeRouteTable = (
  api: Endpoints,
  otherRoutes: ReadonlyArray<readonly [method: string, path: `/${string}`]>,
): RouteTable => {
  const router = FindMyWay.make<MatchedRoute>()
  const known = new Set<string>()
  const add = (method: string, path: `/${string}`, annotations: MatchedRoute["annotations"]) => {
    router.on(method, path, { path, annotations })
    known.add(method)
  }
  for (const group of Object.values(api.groups)) {
    for (const { annotations, method, path } of Object.values(group.endpoints)) add(method, path, annotations)
  }
  for (const [method, path] of otherRoutes) add(method, path, Context.empty())

  const find = (method: string, url: string): MatchedRoute | undefined =>
    router.find(method === "HEAD" ? "GET" : method, url)?.handler
  return {
    find,
    methods: (url) =>
      [...known]
        .filter((method) => router.find(method, url) !== undefined)
        .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])),
  }
}
