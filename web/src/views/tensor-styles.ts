// SPDX-License-Identifier: Apache-2.0
import { css } from 'lit';

export const tensorStyles = css`
  .bar {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    align-items: center;
    margin-bottom: 8px;
  }
  .bar select {
    min-height: 28px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--raised);
  }
  .bar .name {
    min-width: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .gap {
    flex: 1;
  }
  .group {
    display: flex;
    gap: 6px;
  }
  .both {
    container-type: inline-size;
    display: flex;
    flex-wrap: wrap;
    gap: 8px 18px;
  }
  .seen {
    flex: 2 1 420px;
    min-width: 0;
  }
  assay-histogram {
    flex: 1 1 340px;
    min-width: 0;
  }
  canvas {
    display: block;
    width: 100%;
  }
  .picture {
    height: clamp(220px, 33vh, 560px);
    cursor: crosshair;
    touch-action: none;
  }
  .legend {
    height: 34px;
  }
  .readout {
    min-height: 3em;
    margin: 2px 0 0;
    max-width: none;
    overflow-wrap: anywhere;
  }
  .hidden {
    position: absolute;
    clip-path: inset(50%);
    width: 1px;
    height: 1px;
    overflow: hidden;
  }
  @container (min-width: 800px) {
    .picture {
      height: clamp(260px, 54vh, 720px);
    }
  }
  .table {
    overflow: auto;
    max-height: 40vh;
  }
  caption {
    text-align: left;
    color: var(--muted);
  }
`;
