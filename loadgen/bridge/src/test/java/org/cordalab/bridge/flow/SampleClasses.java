package org.cordalab.bridge.flow;

import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import net.corda.core.contracts.ContractState;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.contracts.StateRef;
import net.corda.core.contracts.TransactionState;
import net.corda.core.identity.AbstractParty;
import net.corda.core.identity.Party;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.serialization.ConstructorForDeserialization;
import net.corda.core.serialization.CordaSerializable;
import net.corda.core.serialization.SerializationCustomSerializer;

/** Classes of arguments as CorDapps in Java have them. Jackson alone could build none of them. */
public final class SampleClasses {

    private SampleClasses() {}

    @CordaSerializable
    public static final class Vehicle {
        private final String plate;
        private final SampleFlows.Colour colour;

        public Vehicle(String plate, SampleFlows.Colour colour) {
            this.plate = plate;
            this.colour = colour;
        }

        public String getPlate() {
            return plate;
        }

        public SampleFlows.Colour getColour() {
            return colour;
        }
    }

    @CordaSerializable
    public static final class Policy {
        private final String number;
        private final long insured;
        private final List<Vehicle> vehicles;
        private final Map<Party, Integer> shares;
        private final Set<String> notes;
        private final int[] instalments;
        private final LocalDate from;
        private final Optional<LocalDate> until;

        public Policy(
                String number,
                long insured,
                List<Vehicle> vehicles,
                Map<Party, Integer> shares,
                Set<String> notes,
                int[] instalments,
                LocalDate from,
                Optional<LocalDate> until) {
            if (insured < 0) {
                throw new IllegalArgumentException("insured for less than nothing");
            }
            this.number = number;
            this.insured = insured;
            this.vehicles = vehicles;
            this.shares = shares;
            this.notes = notes;
            this.instalments = instalments;
            this.from = from;
            this.until = until;
        }

        public String getNumber() {
            return number;
        }

        public long getInsured() {
            return insured;
        }

        public List<Vehicle> getVehicles() {
            return vehicles;
        }

        public Map<Party, Integer> getShares() {
            return shares;
        }

        public Set<String> getNotes() {
            return notes;
        }

        public int[] getInstalments() {
            return instalments;
        }

        public LocalDate getFrom() {
            return from;
        }

        public Optional<LocalDate> getUntil() {
            return until;
        }
    }

    /** One constructor of several is annotated. */
    @CordaSerializable
    public static final class Chosen {
        private final String name;
        private final int number;

        @ConstructorForDeserialization
        public Chosen(String name, int number) {
            this.name = name;
            this.number = number;
        }

        public Chosen(int number, boolean isNamed) {
            this(isNamed ? "named" : "unnamed", number);
        }

        public String getName() {
            return name;
        }

        public int getNumber() {
            return number;
        }
    }

    /** It has setters, and none of its constructors has parameters. */
    @CordaSerializable
    public static final class Bean {
        private String name = "";
        private int number;

        public String getName() {
            return name;
        }

        public void setName(String name) {
            this.name = name;
        }

        public int getNumber() {
            return number;
        }

        public void setNumber(int number) {
            this.number = number;
        }
    }

    @CordaSerializable
    public interface Shape {}

    public static final class Circle implements Shape {
        private final int radius;

        public Circle(int radius) {
            this.radius = radius;
        }

        public int getRadius() {
            return radius;
        }
    }

    /** It contains itself, and is generic. */
    @CordaSerializable
    public static final class Tree<T> {
        private final T value;
        private final List<Tree<T>> children;

        public Tree(T value, List<Tree<T>> children) {
            this.value = value;
            this.children = children;
        }

        public T getValue() {
            return value;
        }

        public List<Tree<T>> getChildren() {
            return children;
        }
    }

    @CordaSerializable
    public static final class Odd {
        private final Chosen chosen;
        private final Bean bean;
        private final Shape shape;
        private final Tree<Party> tree;
        private final PageSpecification page;

        public Odd(Chosen chosen, Bean bean, Shape shape, Tree<Party> tree, PageSpecification page) {
            this.chosen = chosen;
            this.bean = bean;
            this.shape = shape;
            this.tree = tree;
            this.page = page;
        }

        public Chosen getChosen() {
            return chosen;
        }

        public Bean getBean() {
            return bean;
        }

        public Shape getShape() {
            return shape;
        }

        public Tree<Party> getTree() {
            return tree;
        }

        public PageSpecification getPage() {
            return page;
        }
    }

    /** A state without content. */
    public static final class State implements ContractState {
        @Override
        public List<AbstractParty> getParticipants() {
            return List.of();
        }

        /** Returns a state with a reference. */
        public static StateAndRef<State> at(StateRef ref) {
            return new StateAndRef<>(new TransactionState<>(new State(), "Contract", TestParties.NOTARY), ref);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof State;
        }

        @Override
        public int hashCode() {
            return 1;
        }
    }

    /** Nothing says which constructor is meant. */
    @CordaSerializable
    public static final class Contradiction {
        public Contradiction(String one, String two) {}

        public Contradiction(int one, int two) {}
    }

    /** A class of another library, for which the CorDapp has a serialiser. */
    public static final class Foreign {
        private final String hidden;

        private Foreign(String hidden, Object secret) {
            this.hidden = hidden + secret;
        }

        private Foreign(Object secret) {
            this("", secret);
        }

        public String reveal() {
            return hidden;
        }
    }

    public static final class ForeignSerializer
            implements SerializationCustomSerializer<Foreign, ForeignSerializer.Proxy> {

        public record Proxy(String open) {}

        @Override
        public Proxy toProxy(Foreign value) {
            return new Proxy(value.reveal());
        }

        @Override
        public Foreign fromProxy(Proxy proxy) {
            return new Foreign(proxy.open(), "!");
        }
    }
}
