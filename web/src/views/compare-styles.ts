// SPDX-License-Identifier: Apache-2.0
import { css } from 'lit';

export const compareStyles = css`
  .sides,
  .bar {
    display: flex;
    flex-wrap: wrap;
    gap: 6px 14px;
    align-items: center;
    max-width: none;
  }
  .bar {
    gap: 6px;
  }
  .gap {
    flex: 1;
  }
  button[aria-pressed='true'] {
    border-color: var(--accent);
    background: var(--select);
    font-weight: 600;
  }
  kbd {
    font: 11px var(--mono);
  }
  .choose {
    position: relative;
    display: inline-block;
    padding: 4px 12px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--raised);
  }
  .choose:focus-within {
    outline: 2px solid var(--focus);
  }
  .choose input {
    position: absolute;
    inset: 0;
    width: 100%;
    opacity: 0;
    cursor: pointer;
  }
  canvas {
    display: block;
    width: 100%;
  }
  .picture {
    height: clamp(200px, 32vh, 480px);
    cursor: grab;
    touch-action: none;
  }
  .legend {
    height: 34px;
  }
  .layers {
    height: 58px;
  }
  .small {
    margin: 6px 0 0;
    font-size: 12px;
  }
  .scroll {
    overflow: auto;
    max-height: max(260px, 42vh);
  }
  .scroll table {
    width: 100%;
  }
  .scroll tr:first-child th {
    position: sticky;
    top: 0;
    background: var(--page);
  }
  .scroll th[title] {
    cursor: help;
  }
  .name {
    overflow-wrap: anywhere;
    text-align: left;
    max-width: none;
  }
  td .name {
    min-height: 24px;
    padding: 0 4px;
  }
  .note {
    padding-left: 5px;
    font-size: 12px;
  }
  th.number {
    white-space: nowrap;
  }
  tr.on {
    background: var(--select);
  }
  ul {
    margin: 0;
    padding-left: 18px;
  }
`;
