/** Handlers of an API's groups, which do not carry along what they were built with. */
import { Context, Effect, Layer, Scope } from "effect"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup } from "effect/http-api"

/** What a group looks up in the context that it keeps: the middleware of its endpoints. */
const middlewareOf = ({ endpoints }: HttpApiGroup.Top) =>
  Object.values(endpoints).flatMap(({ middlewares }) => [...middlewares])

/**
 * The handlers of a group, as `HttpApiBuilder.group` makes them. That keeps the context in which it is built, and copies
 * it into that of every request. So it is built with the middleware alone, while `build` gets everything.
 */
export const layerHandlers = <
  ApiId extends string,
  Groups extends HttpApiGroup.Constraint,
  const Id extends HttpApiGroup.Identifier<Groups>,
  Return,
>(
  api: HttpApi.HttpApi<ApiId, Groups>,
  id: Id,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<HttpApiGroup.WithIdentifier<Groups, Id>>,
  ) => HttpApiBuilder.Handlers.ValidateReturn<Return>,
): Layer.Layer<
  HttpApiGroup.Service<ApiId, Id>,
  HttpApiBuilder.Handlers.Error<Return>,
  Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
> => {
  type Needed = Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
  // The type of an API says more of its groups than can be named here.
  const group = api.groups[id] as unknown as HttpApiGroup.Top
  return Layer.fromBuildMemo((memoMap, scope) =>
    Effect.contextWith((context: Context.Context<Needed>) => {
      const known = Context.omit(Scope.Scope)(context)
      const provided: typeof build = (handlers) => {
        const built = build(handlers)
        // Only less is required of the result, which no type of `build` tells.
        return Effect.isEffect(built) ? (Effect.provideContext(built, known) as unknown as typeof built) : built
      }
      // Whatever else is needed was provided to `build`.
      const kept = Context.pick(...middlewareOf(group))(context) as Context.Context<Needed>
      return HttpApiBuilder.group<ApiId, Groups, Id, Return>(api, id, provided).pipe(
        Layer.buildWithMemoMap(memoMap, scope),
        Effect.updateContext(() => kept),
      )
    }),
  )
}
