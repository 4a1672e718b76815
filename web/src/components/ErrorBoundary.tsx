// A view that breaks does not take the page with it. Also reached when a part that is loaded on demand is gone
// because the server was replaced by a newer one; a reload then fetches the new page.
import { Component, type ReactNode } from "react";
import { ProblemPanel } from "./States";

export class ErrorBoundary extends Component<{ children: ReactNode }, { thrown: unknown }> {
  override state = { thrown: undefined as unknown };

  static getDerivedStateFromError(thrown: unknown) {
    return { thrown };
  }

  override render() {
    if (this.state.thrown === undefined) return this.props.children;
    return (
      <div className="page">
        <ProblemPanel error={this.state.thrown} onRetry={() => window.location.reload()} />
      </div>
    );
  }
}
