// Who is signed in, as what and where; and the way to another org and out.
import { useId } from "react";
import { Button } from "../../components/Button";
import { ProblemPanel } from "../../components/States";
import { useRouter } from "../../routes/router";
import { useMe } from "../signIn/me";
import { useSignOut, useSwitchOrg } from "../signIn/signIn";
import { callName, roleWord } from "./words";

export function WhoAmI() {
  const me = useMe();
  const { navigate } = useRouter();
  const signOut = useSignOut();
  const switchOrg = useSwitchOrg(() => navigate({ page: "overview" }));
  const selectId = useId();
  const isKnown = me.orgs.some(({ id }) => id === me.org.id);
  const orgs = isKnown ? me.orgs : [me.org, ...me.orgs];
  return (
    <section className="who" aria-label="Who you are">
      <div className="who-text">
        <bdi className="who-name">{callName(me)}</bdi>
        <span className="who-role">
          {roleWord(me.org.role, me.is_admin)} in{" "}
          {orgs.length > 1 ? (
            <>
              <label htmlFor={selectId} className="visually-hidden">
                Org in which you work
              </label>
              <select
                id={selectId}
                value={me.org.id}
                disabled={switchOrg.isPending}
                onChange={(event) => switchOrg.mutate(event.target.value)}
              >
                {orgs.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </>
          ) : (
            <bdi>{me.org.name}</bdi>
          )}
        </span>
      </div>
      <Button
        tone="quiet"
        icon="signOut"
        aria-label="Sign out"
        title="Sign out"
        isBusy={signOut.isPending}
        onClick={() => signOut.mutate()}
      />
      {switchOrg.isError && <ProblemPanel error={switchOrg.error} what="You are where you were." />}
    </section>
  );
}
