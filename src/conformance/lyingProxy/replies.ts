import { PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { bytesOf, type ProxyReply } from "./Lie.ts"

export const jsonReply = (value: unknown): ProxyReply => ({
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: [bytesOf(value)],
})

export const problemReply = (status: number, code: string): ProxyReply => ({
  status,
  headers: { "content-type": PROBLEM_CONTENT_TYPE, "cache-control": "no-store" },
  body: [bytesOf({ type: `urn:sealgate:problem:${code}`, title: code, status, code, retryable: status >= 500 })],
})
