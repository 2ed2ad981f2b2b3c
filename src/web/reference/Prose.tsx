/** What stands between backticks is code. */
export const Words = ({ text }: { readonly text: string }) => (
  <>{text.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>
)

export const Prose = ({ text }: { readonly text: string }) => (
  <p>
    <Words text={text} />
  </p>
)
