/** The type of A2A's methods. */
import type { Effect, Scope, Stream } from "effect"
import type { Caller } from "./caller.ts"
import type { Failure } from "./rpcErrors.ts"

/** One result, or those of a stream. */
export type Reply = { readonly result: object } | { readonly results: Stream.Stream<object, Failure> }

export type Method = (caller: Caller, params: unknown) => Effect.Effect<Reply, Failure, Scope.Scope>
