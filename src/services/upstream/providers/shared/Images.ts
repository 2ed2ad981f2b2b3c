/** Images of user messages and tool results: a URL, or the bytes themselves. */

export type Image =
  | { readonly _tag: "Data"; readonly mediaType: string; readonly base64: string }
  | { readonly _tag: "Url"; readonly url: string }

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64,/i

/** The image at `url`; `undefined` for a `data:` URL without base64, or a scheme that no provider fetches. */
export const parseImage = (url: string): Image | undefined => {
  if (/^https?:\/\//i.test(url)) return { _tag: "Url", url }
  const head = DATA_URL.exec(url)
  const mediaType = head?.[1]
  return head === null || mediaType === undefined
    ? undefined
    : { _tag: "Data", mediaType: mediaType.toLowerCase(), base64: url.slice(head[0].length) }
}
