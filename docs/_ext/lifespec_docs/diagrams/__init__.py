"""Drawings, as inline SVG."""
