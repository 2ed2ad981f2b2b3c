/** Builds the handlers of an API's groups without giving their whole context to every request. */
import { Context, Effect, Layer, Scope } from "effect"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup } from "effect/http-api"

/** The services that a group looks up in its context: the middleware of its endpoints. */
const middlewareOf = ({ endpoints }: HttpApiGroup.Top) =>
  Object.values(endpoints).flatMap(({ middlewares }) => [...middlewares])

/**
 * The handlers of a group, as `HttpApiBuilder.group` makes them. It copies the context of a group into every request, where
 * the span in which the server was started would replace the request's own. So the group is built with its middleware only,
 * while `build` gets everything.
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
  // Every group extends `Top`, but the API's type does not show that for a generic id.
  const group = api.groups[id] as unknown as HttpApiGroup.Top
  return Layer.fromBuildMemo((memoMap, scope) =>
    Effect.contextWith((context: Context.Context<Needed>) => {
      const known = Context.omit(Scope.Scope)(context)
      const provided: typeof build = (handlers) => {
        const built = build(handlers)
        // The result requires less, which the type of `build` cannot express.
        return Effect.isEffect(built) ? (Effect.provideContext(built, known) as unknown as typeof built) : built
      }
      // `build` got all other services.
      const kept = Context.pick(...middlewareOf(group))(context) as Context.Context<Needed>
      return HttpApiBuilder.group<ApiId, Groups, Id, Return>(api, id, provided).pipe(
        Layer.buildWithMemoMap(memoMap, scope),
        Effect.updateContext(() => kept),
      )
    }),
  )
}
