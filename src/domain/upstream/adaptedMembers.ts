/** Members of requests that the router leaves out or renames if a target refuses them. */

/** Vendors' names for `response_format` and its contents. */
export const FORM_NAMES =
  /response_?(format|schema|mime_?type|json_?schema)|json_?(schema|object)|json mode|structured output/i

export const LIMIT_NAMES = /max_?(completion|output|new)?_?tokens/i
