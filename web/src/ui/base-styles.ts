// SPDX-License-Identifier: Apache-2.0
import { css } from 'lit';

/** Of every shadow root: the page's colours are custom properties of styles.css. */
export const base = css`
  :host {
    display: block;
    box-sizing: border-box;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  button,
  input,
  select {
    font: inherit;
    color: inherit;
  }
  button {
    min-height: 28px;
    padding: 2px 10px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--raised);
    cursor: pointer;
  }
  button:disabled {
    opacity: 0.5;
    cursor: default;
  }
  button:hover:not(:disabled) {
    background: var(--hover);
  }
  button.primary {
    border-color: transparent;
    background: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
  }
  button.primary:hover {
    background: var(--accent-strong);
  }
  button.plain {
    border-color: transparent;
    background: none;
  }
  button.plain:hover {
    background: var(--hover);
  }
  button.link {
    min-height: 24px;
    padding: 0 2px;
    color: var(--accent-text);
    text-decoration: underline;
  }
  .term {
    text-decoration: underline dotted;
    text-underline-offset: 3px;
    cursor: help;
  }
  :focus-visible {
    outline: 2px solid var(--focus);
    outline-offset: 1px;
  }
  h2 {
    margin: 0 0 8px;
    font-size: 15px;
    font-weight: 600;
  }
  h3 {
    margin: 16px 0 6px;
    font-size: 12px;
    font-weight: 600;
    color: var(--muted);
    text-transform: uppercase;
    letter-spacing: 0.04em;
  }
  p {
    margin: 0 0 8px;
    max-width: 72ch;
  }
  .muted {
    color: var(--muted);
  }
  .mono,
  code {
    font-family: var(--mono);
    font-size: 12px;
  }
  .number {
    text-align: right;
    font-variant-numeric: tabular-nums;
  }
  table {
    border-collapse: collapse;
    font-size: 13px;
  }
  th {
    text-align: left;
    font-weight: 600;
    color: var(--muted);
  }
  th,
  td {
    padding: 4px 12px 4px 0;
    border-bottom: 1px solid var(--line);
    vertical-align: top;
  }
  th.number {
    text-align: right;
  }
  .tag {
    display: inline-block;
    padding: 0 6px;
    border: 1px solid var(--line-strong);
    border-radius: 4px;
    font-size: 11px;
    line-height: 17px;
    white-space: nowrap;
  }
  .danger,
  .damage {
    color: var(--bad);
  }
  .warning {
    color: var(--warn);
  }
  .good {
    color: var(--good);
  }
  .offer {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
  }
  .approximate {
    padding: 6px 8px;
    border: 1px dashed var(--line-strong);
    background: repeating-linear-gradient(135deg, transparent 0 6px, color-mix(in srgb, var(--line) 45%, transparent) 6px 7px);
  }
`;

/** A row of controls above a picture that fills the width. */
export const pictureBar = css`
  .bar {
    display: flex;
    flex-wrap: wrap;
    gap: 6px 12px;
    align-items: center;
    margin-bottom: 6px;
  }
  select {
    min-height: 28px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--raised);
  }
  .gap {
    flex: 1;
  }
  canvas {
    display: block;
    width: 100%;
  }
`;
