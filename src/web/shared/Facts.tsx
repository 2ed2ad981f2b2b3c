import { type ComponentChildren, Fragment } from "preact"

export type Fact = readonly [name: string, content: ComponentChildren]

/** A list of facts. Facts without content are left out. */
export const Facts = ({ of }: { readonly of: ReadonlyArray<Fact> }) => (
  <dl class="facts">
    {of.map(([name, content]) =>
      content === undefined || content === "" ? null : (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </Fragment>
      ),
    )}
  </dl>
)
