/** The statuses of the errors that OpenAI and compatible servers name. */
export const OPENAI_ERRORS: ReadonlyArray<readonly [name: string, status: number]> = [
  ["BadRequestError", 400],
  ["AuthenticationError", 401],
  ["invalid_api_key", 401],
  ["PermissionDeniedError", 403],
  ["NotFoundError", 404],
  ["RateLimitError", 429],
  ["rate_limit_exceeded", 429],
  ["too_many_requests", 429],
  ["server_error", 500],
  ["InternalServerError", 500],
]
