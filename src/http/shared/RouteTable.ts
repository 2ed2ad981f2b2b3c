/**
 * Which paths exist and which methods they take. It is used to count requests by kind, to label them, and to refuse
 * methods.
 */
import { Context } from "effect"
import { FindMyWay } from "effect/http"

export interface Route {
  readonly method: string
  /** With its parameters as `:name`. */
  readonly path: string
  /** The annotations of its endpoint. */
  readonly annotations: Context.Context<never>
}

export interface RouteTable {
  /** What serves a request; `HEAD` is served by what serves `GET`. */
  readonly find: (method: string, url: string) => Route | undefined
  /** Methods that the path of `url` takes; empty when there is no such path. */
  readonly methods: (url: string) => ReadonlyArray<string>
}

/** Stands in metrics and logs for the path of a request that no route serves: strangers choose that. */
export const UNKNOWN_ROUTE = "unknown"

/** The path of a request's target, without its query. */
export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

/** The part of an API that says where its endpoints are. */
export interface Endpoints {
  readonly groups: Readonly<
    Record<
      string,
      {
        readonly endpoints: Readonly<
          Record<
            string,
            { readonly method: string; readonly path: `/${string}`; readonly annotations: Route["annotations"] }
          >
        >
      }
    >
  >
}

/**
 * The routes of an API, and those that are served beside it, as pairs `[method, path]`. They are matched by the same
 * router as the server uses, so that no spelling of a path is served as one route and counted as another.
 */
export const makeRouteTable = (
  api: Endpoints,
  beside: ReadonlyArray<readonly [method: string, path: `/${string}`]>,
): RouteTable => {
  const router = FindMyWay.make<Route>()
  const known = new Set<string>()
  const add = (method: string, path: `/${string}`, annotations: Route["annotations"]) => {
    router.on(method, path, { method, path, annotations })
    known.add(method)
  }
  for (const group of Object.values(api.groups)) {
    for (const { annotations, method, path } of Object.values(group.endpoints)) add(method, path, annotations)
  }
  for (const [method, path] of beside) add(method, path, Context.empty())

  const find = (method: string, url: string): Route | undefined =>
    router.find(method === "HEAD" ? "GET" : method, url)?.handler
  return {
    find,
    methods: (url) =>
      [...known]
        .filter((method) => router.find(method, url) !== undefined)
        .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])),
  }
}
