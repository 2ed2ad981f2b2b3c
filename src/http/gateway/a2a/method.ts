/** The type of A2A's methods. */
import type { Effect, Scope, Stream } from "effect"
import type { AgentCaller } from "./caller.ts"
import type { MethodFailure } from "./rpcErrors.ts"

export type MethodResult = { readonly result: object } | { readonly results: Stream.Stream<object, MethodFailure> }

export type Method = (caller: AgentCaller, params: unknown) => Effect.Effect<MethodResult, MethodFailure, Scope.Scope>
